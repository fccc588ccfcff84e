// A first-word fall-through queue in block RAM: an entry written in cycle t is at the front in cycle t + 3 at the
// earliest, and one entry follows per cycle. The front is a register after the memory's output register, because logic
// that starts at a block RAM's output starts late. A spare register takes an arriving entry while the front is held, so
// that the memory need not know in the same cycle whether the reader takes one. The writer counts entries; the queue
// never overflows.

`default_nettype none

module fgnas_fifo #(
  parameter int unsigned Depth = 512,  // a power of two
  parameter int unsigned Width = 128
) (
  input  wire              clk_i,
  input  wire              rst_i,
  input  wire              write_i,
  input  wire  [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o,
  input  wire              pop_i
);
  localparam int unsigned PointerBits = $clog2(Depth);
  logic [PointerBits-1:0] write_q, read_q;
  logic [PointerBits:0] held_q;  // entries in the memory
  logic any_q;                   // whether there are any
  logic fetch, fetched_q, spare_valid_q, advance;
  logic [1:0] claimed_q;         // entries fetched but not taken: front, spare and the memory's register
  logic room_q;                  // room for one more of them
  assign advance = !valid_o || pop_i;
  assign fetch   = any_q && room_q;

  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  logic [Width-1:0] word_q, spare_q;
  always_ff @(posedge clk_i) begin
    if (write_i) mem[write_q] <= data_i;
  end
  always_ff @(posedge clk_i) begin
    if (fetch) word_q <= mem[read_q];
  end
  always_ff @(posedge clk_i) begin
    if (!spare_valid_q) spare_q <= word_q;
    if (advance) data_o <= spare_valid_q ? spare_q : word_q;
  end
  always_ff @(posedge clk_i) begin
    if (write_i) write_q <= write_q + 1'b1;
    if (fetch) read_q <= read_q + 1'b1;
    held_q <= fetch ? held_q - (PointerBits + 1)'(!write_i) : held_q + (PointerBits + 1)'(write_i);
    any_q  <= write_i || (held_q >> 1) != '0 || (held_q[0] && !fetch);
    if (fetch != pop_i) claimed_q <= fetch ? claimed_q + 1'b1 : claimed_q - 1'b1;
    room_q        <= pop_i || !claimed_q[1] || (!claimed_q[0] && !fetch);
    valid_o       <= !advance || spare_valid_q || fetched_q;
    spare_valid_q <= !advance && (spare_valid_q || fetched_q);
    fetched_q     <= fetch || (fetched_q && spare_valid_q);
    if (rst_i) begin
      write_q       <= '0;
      read_q        <= '0;
      held_q        <= '0;
      any_q         <= 1'b0;
      claimed_q     <= '0;
      room_q        <= 1'b1;
      fetched_q     <= 1'b0;
      spare_valid_q <= 1'b0;
      valid_o       <= 1'b0;
    end
  end
endmodule

`default_nettype wire
