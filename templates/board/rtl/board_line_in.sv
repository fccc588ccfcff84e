// Bits of a serial line (8 bits, no parity, one stop bit) -> bytes. A bit lasts 65536 / Step cycles; every bit is
// sampled in its middle, counted from the edge of its start bit.

`default_nettype none

module board_line_in #(
  parameter int unsigned Step = 16384
) (
  input  wire         clk_i,
  input  wire         rst_i,
  input  wire         line_i,   // asynchronous; high while the line rests
  output logic        valid_o,  // for one cycle
  output logic [7:0]  byte_o,
  output logic        error_o   // for one cycle: no stop bit
);
  localparam logic [3:0] StopBit = 4'd10;  // bits are counted from 1, the start bit
  logic meta_q, line_q;
  logic [3:0] bit_q;  // the bit that is awaited; 0 while the line rests
  logic [15:0] phase_q;
  logic [16:0] phase;
  assign phase = {1'b0, phase_q} + 17'(Step);

  always_ff @(posedge clk_i) begin
    meta_q  <= line_i;
    line_q  <= meta_q;
    valid_o <= 1'b0;
    error_o <= 1'b0;
    phase_q <= phase[15:0];
    if (bit_q == '0) begin
      phase_q <= 16'h8000;  // half a bit
      if (!line_q) bit_q <= 4'd1;
    end else if (phase[16]) begin
      bit_q <= bit_q + 1'b1;
      if (bit_q == 4'd1 && line_q) bit_q <= '0;  // a spike, no start bit
      if (bit_q != 4'd1 && bit_q != StopBit) byte_o <= {line_q, byte_o[7:1]};
      if (bit_q == StopBit) begin
        bit_q   <= '0;
        valid_o <= line_q;
        error_o <= !line_q;
      end
    end
    if (rst_i) begin
      meta_q  <= 1'b1;
      line_q  <= 1'b1;
      bit_q   <= '0;
      valid_o <= 1'b0;
      error_o <= 1'b0;
    end
  end
endmodule

`default_nettype wire
