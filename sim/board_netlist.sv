// A board's netlist under the ports of a system: it has the board's pins, and its PLL passes the clock on.

`default_nettype none

module board_netlist (
  input  wire  clk_i,
  input  wire  rst_i,
  input  wire  line_i,
  output logic line_o,
  output logic running_o
);
  board_top u_top (
    .clock(clk_i), .reset(rst_i), .line_in(line_i), .line_out(line_o), .running(running_o)
  );
endmodule

`default_nettype wire
