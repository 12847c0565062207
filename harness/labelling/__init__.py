"""Support strategies of replies, labelled by a model or by two people, and the worth of a labeller."""
