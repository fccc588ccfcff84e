// max(0, U), for Z with the fraction bits of U.

`default_nettype none

module fgnas_relu #(
  parameter int unsigned Bits = 8
) (
  input  wire             clk_i,
  input  wire  [Bits-1:0] u_i,
  output logic [Bits-1:0] z_o
);
  always_ff @(posedge clk_i) z_o <= u_i[Bits-1] ? '0 : u_i;
endmodule

`default_nettype wire
