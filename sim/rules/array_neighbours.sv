// The rules of the memory of nearest points.

`default_nettype none

module array_neighbours_rules (
  input wire                              clk_i,
  input wire                              rst_i,
  input wire                              gathers_i,
  input wire                              index_valid_i,
  input wire                              busy_i,
  input wire [array_pkg::AddressBits:0]   read_q_i,
  input wire [array_pkg::AddressBits:0]   write_q_i,
  input wire                              entry_ends_i,
  input wire                              valid_i
);
  logic [array_pkg::AddressBits:0] found_q;  // indices of the last sample
  logic written_q;
  always_ff @(posedge clk_i) begin
    written_q <= index_valid_i;
    if (index_valid_i) found_q <= write_q_i + 1'b1;
    if (!rst_i) begin
      apart: assert (!(gathers_i && index_valid_i)) else $error("nearest points are read while they are found");
      read_behind: assert (!(gathers_i && valid_i && written_q)) else $error("an index is read while it is written");
      wanted: assert (!index_valid_i || busy_i) else $error("an index has no row");
      there: assert (!entry_ends_i || read_q_i < found_q) else $error("a gather reads an index that was not found");
    end
  end
endmodule

bind array_neighbours array_neighbours_rules u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .gathers_i(gathers), .index_valid_i(index_valid_i), .busy_i(busy_o), .read_q_i(read_q),
  .write_q_i(write_q), .entry_ends_i(ends_q), .valid_i(valid_i)
);

`default_nettype wire
