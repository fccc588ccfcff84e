// The neighbours of a unit's rows: a memory of indices, which its chain fills and a gather reads. A gather's entries
// come from here and not from a stream: an index for each, its word's address four cycles later. All else passes.
// The next index to read has left the memory before its entry comes: a block RAM's output is late in its cycle.

`default_nettype none

module array_neighbours #(
  parameter int unsigned Unit  = 0,
  parameter int unsigned Units = 8,
  parameter int unsigned Words = 512  // indices
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire                                start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t       d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  // What the chain of the unit found.
  input  wire                                index_valid_i,
  input  wire  [array_pkg::IndexBits-1:0]    index_i,
  input  wire                                row_done_i,
  // From the issue.
  input  wire                                valid_i,
  input  wire                                first_i,
  input  wire                                last_i,
  input  wire                                own_i,     // the entry is the row's own, which no index names
  input  wire  [array_pkg::TileBits-1:0]     tile_i,
  input  wire  [array_pkg::AddressBits-1:0]  address_i,
  input  wire  [array_pkg::ValueBits-1:0]    value_i,
  // To the unit.
  output logic                               valid_o,
  output logic                               first_o,
  output logic                               last_o,
  output logic [array_pkg::TileBits-1:0]     tile_o,
  output logic [array_pkg::AddressBits-1:0]  address_o,
  output logic [array_pkg::ValueBits-1:0]    value_o,
  output logic                               busy_o,    // the chain has rows to come
  output logic                               over_o     // an index has no place
);
  import array_pkg::*;
  localparam int unsigned Wait = 4;  // cycles that an address takes
  localparam int unsigned PlaceBits = (Words > 1) ? $clog2(Words) : 1;

  logic gathers, samples;
  // Facts of the descriptor, which are there before it begins.
  always_ff @(posedge clk_i) begin
    gathers <= d_i.operation == 2'(OperationSparse) && d_i.region == 2'(RegionNeighbours);
    samples <= d_i.operation == 2'(OperationDense) && d_i.sample != '0;
  end

  // Indices are written one after the other, and read one after the other.
  logic ends_q, row_ends_q, own_q;   // the last word of an entry that an index names, and of a row
  logic [TileBits-1:0] last_tile_q;  // a fact of the descriptor, which is there before it begins
  logic [Wait-1:0] valid_q, first_q, last_q;
  logic [Wait-1:0][TileBits-1:0] tile_q;
  logic [Wait-1:0][ValueBits-1:0] value_q;
  logic [AddressBits:0] write_q, read_q, following_q, read_next;
  logic [CountBits-1:0] rows_q;
  logic [IndexBits-1:0] read;
  assign busy_o    = rows_q != '0;
  assign read_next = start_i ? '0 : ends_q ? following_q : read_q;
  always_ff @(posedge clk_i) begin
    last_tile_q <= d_i.tiles - 1'b1;
    own_q       <= own_i;
    if (index_valid_i) write_q <= write_q + 1'b1;
    ends_q      <= valid_i && gathers && !own_i && tile_i == last_tile_q && !rst_i;
    row_ends_q  <= valid_i && gathers && last_i && tile_i == last_tile_q && !rst_i;
    read_q      <= read_next;
    following_q <= start_i ? (AddressBits + 1)'(1) : following_q + (AddressBits + 1)'(ends_q);
    if (index_valid_i && row_done_i) rows_q <= rows_q - 1'b1;
    if (start_i) begin
      write_q <= '0;
      rows_q  <= samples ? d_i.count : '0;
    end
    if (rst_i) rows_q <= '0;
    over_o <= !rst_i && ((index_valid_i && 32'(write_q) >= Words) || (ends_q && 32'(read_q) >= Words));
  end
  fgnas_block_ram #(.Depth(Words), .Width(IndexBits)) u_memory (
    .clk_i(clk_i), .write_i(index_valid_i && 32'(write_q) < Words), .write_address_i(PlaceBits'(write_q)),
    .write_data_i(index_i), .read_address_i(PlaceBits'(read_next)), .read_data_o(read)
  );

  // An index times the words of a row, from the first row on: the multiples for the lower and for the upper bits of
  // that number are added apart. The row's own index is that of its place.
  localparam int unsigned LowBits = TileBits / 2;
  logic [IndexBits-1:0] row_q, index_q;
  logic [1:0][AddressBits-1:0] first_word, first_word_q;
  logic [AddressBits-1:0] base_q, address_q;
  always_comb begin
    first_word = '0;
    for (int unsigned b = 0; b < TileBits; b++) begin
      first_word[b >= LowBits] = first_word[b >= LowBits] +
          (AddressBits'(index_q) << b & {AddressBits{d_i.limit[b]}});
    end
  end
  always_ff @(posedge clk_i) begin
    valid_q <= rst_i ? '0 : {valid_q[Wait-2:0], valid_i && gathers};
    first_q <= {first_q[Wait-2:0], first_i};
    last_q  <= {last_q[Wait-2:0], last_i};
    tile_q  <= {tile_q[Wait-2:0], tile_i};
    value_q <= {value_q[Wait-2:0], value_i};
    index_q <= own_q ? row_q : read;
    if (row_ends_q) row_q <= row_q + IndexBits'(Units);
    if (start_i) row_q <= IndexBits'(Unit);
    first_word_q <= first_word;
    base_q       <= d_i.table_base + AddressBits'(tile_q[1]);
    address_q    <= base_q + first_word_q[0] + first_word_q[1];
  end
  assign valid_o   = gathers ? valid_q[Wait-1] : valid_i;
  assign first_o   = gathers ? first_q[Wait-1] : first_i;
  assign last_o    = gathers ? last_q[Wait-1] : last_i;
  assign tile_o    = gathers ? tile_q[Wait-1] : tile_i;
  assign address_o = gathers ? address_q : address_i;
  assign value_o   = gathers ? value_q[Wait-1] : value_i;
endmodule

`default_nettype wire
