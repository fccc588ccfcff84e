// A system with the memory chip that is soldered beside it, under the ports of a system without one.

`default_nettype none

module board_bench #(
  parameter int unsigned ClockHz = 50_000_000
) (
  input  wire  clk_i,
  input  wire  rst_i,
  input  wire  line_i,
  output logic line_o,
  output logic running_o
);
  logic cke, cs_n, ras_n, cas_n, we_n, drives;
  logic [1:0] ba, dm;
  logic [12:0] a;
  logic [15:0] out, in;
  logic cke_q, cs_nq, ras_nq, cas_nq, we_nq, drives_q;
  logic [1:0] ba_q, dm_q;
  logic [12:0] a_q;
  logic [15:0] out_q, in_q;
  board_system u_system (
    .clk_i(clk_i), .rst_i(rst_i), .line_i(line_i), .line_o(line_o), .running_o(running_o), .sdram_cke_o(cke),
    .sdram_cs_no(cs_n), .sdram_ras_no(ras_n), .sdram_cas_no(cas_n), .sdram_we_no(we_n), .sdram_ba_o(ba),
    .sdram_a_o(a), .sdram_dm_o(dm), .sdram_dq_o(out), .sdram_dq_drive_o(drives), .sdram_dq_i(in_q)
  );

  // The registers of the pins.
  always_ff @(posedge clk_i) begin
    {cke_q, cs_nq, ras_nq, cas_nq, we_nq, drives_q} <= {cke, cs_n, ras_n, cas_n, we_n, drives};
    {ba_q, dm_q, a_q, out_q, in_q} <= {ba, dm, a, out, in};
  end
  board_chip #(.ClockHz(ClockHz)) u_chip (
    .clk_i(clk_i), .cke_i(cke_q), .cs_ni(cs_nq), .ras_ni(ras_nq), .cas_ni(cas_nq), .we_ni(we_nq), .ba_i(ba_q),
    .a_i(a_q), .dm_i(dm_q), .dq_i(out_q), .dq_driven_i(drives_q), .dq_o(in)
  );
endmodule

`default_nettype wire
