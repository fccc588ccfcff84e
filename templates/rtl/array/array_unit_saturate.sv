// A number limited to what the descriptor's width holds: it is outside where a bit from the sign's place on differs
// from its sign. No cycle.

`default_nettype none

module array_unit_saturate #(
  parameter int unsigned Width = 30,
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits
) (
  input  wire  signed [Width-1:0]       value_i,
  input  wire  signed [ResultWidth-1:0] largest_i,  // all bits behind the sign's place
  output logic [ResultWidth-1:0]        value_o
);
  logic negative, outside;
  assign negative = value_i[Width-1];
  assign outside  = ((value_i ^ {Width{negative}}) & ~Width'(largest_i)) != '0;
  assign value_o  = outside ? largest_i ^ {ResultWidth{negative}} : value_i[ResultWidth-1:0];
endmodule

`default_nettype wire
