// Row buffer -> H, one word per cycle; counts the rows of the phase.

`default_nettype none

module fgnas_store #(
  parameter int unsigned WordBits    = 64,
  parameter int unsigned Words       = 1,     // of a row
  parameter int unsigned Capacity    = 3072,  // rows of H
  parameter int unsigned AddressBits = 12
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0] nodes_i,
  input  wire                                row_i,
  output logic                               read_o,
  output logic                               read_last_o,
  input  wire  [WordBits-1:0]                data_i,
  output logic                               write_o,
  output logic [AddressBits-1:0]             address_o,
  output logic [WordBits-1:0]                data_o,
  output logic                               done_o
);
  localparam int unsigned CountBits = (Words > 1) ? $clog2(Words) : 1;
  logic [CountBits-1:0] word_q;
  logic [AddressBits-1:0] base_q, row_q;
  logic [fgnas_pkg::RegisterBits-1:0] rows_q;

  assign read_o      = row_i && !done_o;
  assign read_last_o = read_o && (word_q == CountBits'(Words - 1));

  always_ff @(posedge clk_i) begin
    write_o   <= read_o && !rst_i;
    address_o <= base_q + row_q;
    data_o    <= data_i;
    if (read_o) begin
      word_q <= read_last_o ? '0 : word_q + 1'b1;
      base_q <= read_last_o ? '0 : base_q + AddressBits'(Capacity);
    end
    if (read_last_o) begin
      row_q  <= row_q + 1'b1;
      rows_q <= rows_q + 1'b1;
      done_o <= (rows_q + 1'b1) == nodes_i;
    end
    if (rst_i) begin
      word_q <= '0;
      base_q <= '0;
      row_q  <= '0;
      rows_q <= '0;
      done_o <= 1'b0;
    end
  end
endmodule

`default_nettype wire
