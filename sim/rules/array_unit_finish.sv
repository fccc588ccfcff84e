// The rules of finished lanes: they saturate to the descriptor's width.

`default_nettype none

module array_unit_finish_rules #(
  parameter int unsigned Finished = 8
) (
  input wire                                          clk_i,
  input wire                                          rst_i,
  input wire                                          valid_i,
  input wire [Finished-1:0][fgnas_pkg::WordBits-1:0]  lanes_i,
  input wire signed [fgnas_pkg::WordBits-1:0]         largest_i
);
  logic narrow;
  always_comb begin
    narrow = 1'b1;
    for (int unsigned l = 0; l < Finished; l++) begin
      if (signed'(lanes_i[l]) > largest_i || signed'(lanes_i[l]) < ~largest_i) narrow = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_i) saturated: assert (!valid_i || narrow) else $error("a result is wider than its descriptor says");
  end
endmodule

bind array_unit_finish array_unit_finish_rules #(.Finished(Finished)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid_o), .lanes_i(lanes_o), .largest_i(largest_o)
);

`default_nettype wire
