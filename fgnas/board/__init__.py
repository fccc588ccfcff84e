"""From a project to a board: a kernel with memory and a serial line around it, its bitstream, and the program that
talks to it."""
