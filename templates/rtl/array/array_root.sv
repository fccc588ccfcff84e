// Distances that a row's neighbours send: the root of each squared distance, rounded to nearest, times a value; their
// sum, or the largest. A root takes a cycle for each of its bits and one in which it is rounded; they follow each other
// without a gap. The value is that of all entries.

`default_nettype none

module array_root #(
  parameter int unsigned DistanceBits = 24,
  parameter int unsigned SumBits      = 28,
  localparam int unsigned RootBits = (DistanceBits + 1) / 2
) (
  input  wire                                  clk_i,
  input  wire                                  rst_i,
  input  wire                                  start_i,
  input  wire                                  largest_i,  // the largest is wanted
  input  wire                                  enter_i,    // an entry has this value
  input  wire  signed [array_pkg::ValueBits-1:0] value_i,
  input  wire                                  valid_i,
  input  wire  [DistanceBits-1:0]              distance_i,
  input  wire                                  last_i,     // of the row
  output logic                                 row_o,
  output logic signed [SumBits-1:0]            total_o
);
  import array_pkg::*;
  localparam int unsigned RestBits = RootBits + 1;  // what is left is twice the root at most
  localparam int unsigned TrialBits = RestBits + 2;

  // A digit in each stage, the highest first: 4 times the rest and the next two bits, less 4 times the root and 1.
  logic [RootBits:0][2*RootBits-1:0] square_q;
  logic [RootBits:0][RootBits-1:0] root_q;
  logic [RootBits:0][RestBits-1:0] rest_q;
  logic [RootBits+2:0] valid_q, last_q;
  assign square_q[0] = (2 * RootBits)'(distance_i);
  assign root_q[0]   = '0;
  assign rest_q[0]   = '0;
  for (genvar s = 0; s < RootBits; s++) begin : gen_digit
    logic [TrialBits-1:0] trial, less;
    logic fits;
    assign trial = {rest_q[s], square_q[s][2*RootBits-1-:2]};
    assign less  = TrialBits'({root_q[s], 2'b01});
    assign fits  = trial >= less;
    always_ff @(posedge clk_i) begin
      square_q[s+1] <= square_q[s] << 2;
      root_q[s+1]   <= {root_q[s][RootBits-2:0], fits};
      rest_q[s+1]   <= RestBits'(fits ? trial - less : trial);
    end
  end
  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[RootBits+1:0], valid_i};
    last_q  <= {last_q[RootBits+1:0], last_i};
  end

  // No root lies halfway: it is rounded up where the rest is larger than the root.
  logic signed [RootBits+1:0] rounded_q;
  logic signed [ValueBits-1:0] value_q;
  always_ff @(posedge clk_i) begin
    rounded_q <= (RootBits + 2)'(root_q[RootBits]) + (RootBits + 2)'(rest_q[RootBits] > RestBits'(root_q[RootBits]));
    if (enter_i) value_q <= value_i;
  end

  // Times the value, to the row.
  logic signed [RootBits+ValueBits+1:0] product;
  logic signed [SumBits-1:0] message;
  logic fresh_q;
  fgnas_multiplier #(.LeftBits(RootBits + 2), .RightBits(ValueBits), .UseDsp(1'b0)) u_multiplier (
    .clk_i(clk_i), .left_i(rounded_q), .right_i(value_q), .product_o(product)
  );
  assign message = SumBits'(product);
  always_ff @(posedge clk_i) begin
    if (valid_q[RootBits+1]) begin
      fresh_q <= last_q[RootBits+1];
      if (fresh_q) total_o <= message;
      else if (!largest_i) total_o <= total_o + message;
      else if (message > total_o) total_o <= message;
    end
    if (start_i) fresh_q <= 1'b1;
    row_o <= valid_q[RootBits+1] && last_q[RootBits+1] && !rst_i;
  end
endmodule

`default_nettype wire
