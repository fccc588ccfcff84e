// Bytes -> bits of a serial line (8 bits, no parity, one stop bit). A bit lasts 65536 / Step cycles.

`default_nettype none

module board_line_out #(
  parameter int unsigned Step = 16384
) (
  input  wire        clk_i,
  input  wire        rst_i,
  input  wire        valid_i,
  output logic       ready_o,
  input  wire  [7:0] byte_i,
  output logic       line_o
);
  logic [3:0] left_q;   // bits that have not ended, the current one included
  logic [8:0] bits_q;   // behind the current one
  logic [15:0] phase_q;
  logic [16:0] phase;
  assign phase   = {1'b0, phase_q} + 17'(Step);
  assign ready_o = left_q == '0;

  always_ff @(posedge clk_i) begin
    phase_q <= phase[15:0];
    if (ready_o) begin
      phase_q <= '0;
      if (valid_i) begin
        line_o <= 1'b0;
        bits_q <= {1'b1, byte_i};
        left_q <= 4'd10;
      end
    end else if (phase[16]) begin
      line_o <= bits_q[0];
      bits_q <= {1'b1, bits_q[8:1]};
      left_q <= left_q - 1'b1;
    end
    if (rst_i) begin
      line_o <= 1'b1;
      left_q <= '0;
    end
  end
endmodule

`default_nettype wire
