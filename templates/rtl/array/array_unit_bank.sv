// A bank of a table, or own rows: block RAMs of so many words at most, each with a register behind it, so that no
// choice among deep memories follows one without. Reading takes two cycles.

`default_nettype none

module array_unit_bank #(
  parameter int unsigned Depth = 1024,
  parameter int unsigned Width = 64,
  localparam int unsigned PlaceBits = (Depth > 1) ? $clog2(Depth) : 1
) (
  input  wire                  clk_i,
  input  wire                  write_i,
  input  wire  [PlaceBits-1:0] write_address_i,
  input  wire  [Width-1:0]     write_data_i,
  input  wire  [PlaceBits-1:0] read_address_i,
  output logic [Width-1:0]     read_data_o
);
  localparam int unsigned Most = array_pkg::BankWords;
  localparam int unsigned Slices = (Depth + Most - 1) / Most;
  if (Slices == 1) begin : gen_one
    logic [Width-1:0] read;
    fgnas_block_ram #(.Depth(Depth), .Width(Width)) u_words (
      .clk_i(clk_i), .write_i(write_i), .write_address_i(write_address_i), .write_data_i(write_data_i),
      .read_address_i(read_address_i), .read_data_o(read)
    );
    always_ff @(posedge clk_i) read_data_o <= read;
  end else begin : gen_slices
    localparam int unsigned SliceBits = $clog2(Most);
    localparam int unsigned Number = PlaceBits - SliceBits;
    logic [Slices-1:0][Width-1:0] read, read_q;
    logic [1:0][Number-1:0] slice_q;
    assign read_data_o = read_q[slice_q[1]];
    always_ff @(posedge clk_i) begin
      read_q  <= read;
      slice_q <= {slice_q[0], read_address_i[PlaceBits-1:SliceBits]};
    end
    for (genvar s = 0; s < Slices; s++) begin : gen_slice
      localparam int unsigned Words = (s == Slices - 1) ? Depth - s * Most : Most;
      localparam int unsigned WordsBits = (Words > 1) ? $clog2(Words) : 1;
      fgnas_block_ram #(.Depth(Words), .Width(Width)) u_words (
        .clk_i(clk_i), .write_i(write_i && write_address_i[PlaceBits-1:SliceBits] == Number'(s)),
        .write_address_i(WordsBits'(write_address_i)), .write_data_i(write_data_i),
        .read_address_i(WordsBits'(read_address_i)), .read_data_o(read[s])
      );
    end
  end
endmodule

`default_nettype wire
