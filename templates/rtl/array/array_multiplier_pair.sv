// Two products by the same value in one DSP slice, a cycle behind their operands.
//
// The left operands share a port of the slice, the upper one `Place` bits up, so that the slice makes
// upper * right * 2**Place + lower * right. What is added in the slice as well keeps the two apart: half of the lower
// product's range, so that it borrows nothing; and less the last bits of the upper product where they would meet the
// lower one's, which logic makes from the last bits of its operands.

`default_nettype none

module array_multiplier_pair #(
  parameter int unsigned LeftBits  = 8,
  parameter int unsigned RightBits = 11,
  parameter int unsigned PortBits  = 25,  // of the slice's wider port
  localparam int unsigned ProductBits = LeftBits + RightBits
) (
  input  wire                             clk_i,
  input  wire signed  [LeftBits-1:0]      lower_i,
  input  wire signed  [LeftBits-1:0]      upper_i,
  input  wire signed  [RightBits-1:0]     right_i,
  output logic signed [ProductBits-1:0]   lower_o,
  output logic signed [ProductBits-1:0]   upper_o
);
  localparam int unsigned Room  = PortBits - LeftBits - 1;  // both operands together may need a bit more than the upper
  localparam int unsigned Place = (ProductBits < Room) ? ProductBits : Room;
  localparam int unsigned Meet  = ProductBits - Place;  // bits of the products that would meet
  localparam int unsigned SumBits = 48;                 // of the slice

  logic signed [PortBits-1:0] left;
  logic signed [SumBits-1:0] apart;
  (* use_dsp = "yes" *) logic signed [SumBits-1:0] sum_q;
  assign left = (PortBits'(upper_i) <<< Place) + PortBits'(lower_i);
  always_ff @(posedge clk_i) sum_q <= left * right_i + apart;
  assign lower_o = {~sum_q[ProductBits-1], sum_q[ProductBits-2:0]};

  if (Meet == 0) begin : gen_apart
    assign apart   = SumBits'(1) <<< (ProductBits - 1);
    assign upper_o = sum_q[ProductBits+:ProductBits];
  end else begin : gen_meet
    logic [Meet-1:0] last, last_q;
    assign last  = upper_i[Meet-1:0] * right_i[Meet-1:0];
    assign apart = (SumBits'(1) <<< (ProductBits - 1)) - (SumBits'(last) <<< Place);
    always_ff @(posedge clk_i) last_q <= last;
    assign upper_o = {sum_q[ProductBits+:ProductBits-Meet], last_q};
  end
endmodule

`default_nettype wire
