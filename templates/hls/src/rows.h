// The rows of a run: every stage works on as many as the graph has nodes.
#pragma once

#include "count.h"
#include "parameters.h"

/// The rows that are still to come; the kernel has refused a graph of more than NODE_CAPACITY.
typedef Countdown<bits_of(NODE_CAPACITY)> Rows;
