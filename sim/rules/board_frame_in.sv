// The rule of the frames that come: what waits is not changed.

`default_nettype none

module board_frame_in_rules (
  input wire       clk_i,
  input wire       rst_i,
  input wire       keeps_i,
  input wire       half_i,   // that a payload is written into
  input wire [1:0] taken_i
);
  logic seen_q = 1'b0;  // a reset
  always_ff @(posedge clk_i) begin
    if (rst_i) seen_q <= 1'b1;
    if (seen_q && !rst_i) begin
      free_half: assert (!keeps_i || !taken_i[half_i]) else $error("a frame overwrites one that waits");
    end
  end
endmodule

bind board_frame_in board_frame_in_rules u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .keeps_i(keeps), .half_i(half_q), .taken_i(taken_q)
);

`default_nettype wire
