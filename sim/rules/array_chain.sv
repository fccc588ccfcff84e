// The rules of the nearest points of a row.

`default_nettype none

module array_chain_rules #(
  parameter int unsigned Places  = 20,
  parameter int unsigned KeyBits = 38
) (
  input wire                               clk_i,
  input wire                               rst_i,
  input wire                               sorted_q_i,
  input wire [array_pkg::PlacesBits-1:0]   left_q_i,
  input wire [array_pkg::PlacesBits-1:0]   places_i,
  input wire [Places-1:0]                  held_q_i,
  input wire [Places-1:0][KeyBits-1:0]     place_q_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i && sorted_q_i) begin
      left: assert (32'(left_q_i) <= 1) else $error("indices of a row are lost: the next row ends too early");
      enough: assert (held_q_i[places_i-1]) else $error("a row has fewer points than places");
      for (int unsigned p = 1; p < Places; p++) begin
        order: assert (!held_q_i[p] || place_q_i[p-1] < place_q_i[p]) else $error("keys are not in order");
      end
    end
  end
endmodule

bind array_chain array_chain_rules #(.Places(Places), .KeyBits(KeyBits)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .sorted_q_i(sorted_q), .left_q_i(left_q), .places_i(places_i), .held_q_i(held_q),
  .place_q_i(place_q)
);

`default_nettype wire
