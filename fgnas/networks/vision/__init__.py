"""Vision graph neural networks: an image is a graph of patches (ViG); one slimmable supernet holds a space of them."""
