"""fgnas: search for a graph neural network and the FPGA accelerator that runs it, together."""
