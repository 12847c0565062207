"""A judge, a connection and a voice, each as small as it can be."""
