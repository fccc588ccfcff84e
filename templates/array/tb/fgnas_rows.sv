// Records when each descriptor of a programme begins. Part of every simulation, and of nothing else: the probe binds to
// the kernel, whose own files do not mention it.

`default_nettype none

/// Writes the cycle of each beginning, counted from the start write, to a file beside the folder that +rows= gives.
module array_phase_probe (
  input wire clk_i,
  input wire begins_i
);
  string folder;
  int file;
  initial if ($value$plusargs("rows=%s", folder)) file = $fopen({folder, ".phases"}, "wb");
  always @(posedge clk_i) if (begins_i && file != 0) $fwrite(file, "%u", bench.count[31:0]);
endmodule

bind fgnas_kernel array_phase_probe u_phases (.clk_i(ap_clk), .begins_i(begins));

`default_nettype wire
