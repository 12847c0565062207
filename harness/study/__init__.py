"""The study that people are asked to take part in, and the words of every page that they see, in their language."""
