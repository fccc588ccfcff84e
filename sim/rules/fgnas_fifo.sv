// The rules of a queue: its user's, its promises, and what its registers mean.

`default_nettype none

`ifdef PROVE_FIFO
`define FGNAS_FIFO_USER assume
`else
`define FGNAS_FIFO_USER assert
`endif

module fgnas_fifo_rules #(
  parameter int unsigned Depth = 512,
  parameter int unsigned Width = 128
) (
  input wire                       clk_i,
  input wire                       rst_i,
  input wire                       write_i,
  input wire [Width-1:0]           data_i,
  input wire                       valid_i,
  input wire [Width-1:0]           front_i,
  input wire                       pop_i,
  input wire [$clog2(Depth)-1:0]   write_q_i,
  input wire [$clog2(Depth)-1:0]   read_q_i,
  input wire [$clog2(Depth):0]     held_q_i,
  input wire                       any_q_i,
  input wire [1:0]                 claimed_q_i,
  input wire                       room_q_i,
  input wire                       fetched_q_i,
  input wire                       spare_valid_q_i
);
  localparam int unsigned CountBits = $clog2(Depth) + 1;
  logic seen_q = 1'b0;  // a reset
  logic [CountBits-1:0] entries_q;
  logic [1:0] waited_q;  // cycles in which there was an entry, but none in front
  always_ff @(posedge clk_i) begin
    entries_q <= entries_q + CountBits'(write_i) - CountBits'(pop_i);
    waited_q  <= (entries_q == '0 || valid_i) ? '0 : waited_q + 2'(!(&waited_q));
    if (rst_i) begin
      seen_q    <= 1'b1;
      entries_q <= '0;
      waited_q  <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
`ifdef PROVE_FIFO
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
`endif
    if (seen_q && !rst_i) begin
      never_overflows: `FGNAS_FIFO_USER (!write_i || 32'(entries_q) < Depth) else $error("a queue overflows");
      never_underflows: `FGNAS_FIFO_USER (!pop_i || valid_i) else $error("an empty queue is popped");
      front_exists: assert (!valid_i || entries_q != '0) else $error("an empty queue shows an entry");
      front_comes: assert (waited_q < 2'd3) else $error("an entry of a queue does not come to the front");
      front_near: assert (waited_q == '0 || valid_i || (waited_q == 2'd1 && fetched_q_i))
      else $error("an entry that waits is not on its way to the front");
      memory_holds: assert (32'(held_q_i) <= Depth) else $error("a queue overwrites an entry");
      pointers: assert ($clog2(Depth)'(write_q_i - read_q_i) == $clog2(Depth)'(held_q_i))
      else $error("the pointers of a queue are not as far apart as it has entries");
      apart: assert (!write_i || !any_q_i || !room_q_i || write_q_i != read_q_i)
      else $error("a queue reads the word that it writes");
      entries: assert (entries_q == held_q_i + CountBits'(claimed_q_i))
      else $error("a queue counts its entries wrongly");
      claimed: assert (claimed_q_i == 2'(valid_i) + 2'(spare_valid_q_i) + 2'(fetched_q_i))
      else $error("a queue counts its fetched entries wrongly");
      any: assert (any_q_i == (held_q_i != '0)) else $error("a queue does not know whether it holds entries");
      room: assert (room_q_i == (claimed_q_i != 2'd3)) else $error("a queue does not know whether it may fetch");
      spare_behind_front: assert (!spare_valid_q_i || valid_i) else $error("a queue's spare overtakes its front");
    end
  end

`ifdef PROVE_FIFO
  // One entry, any, is followed through the queue: nobody drives `some_time`, so that the proof chooses.
  logic some_time, choose_q;
  logic watching_q;
  logic [CountBits-1:0] ahead_q;  // entries in front of it
  logic [Width-1:0] value_q;
  always_ff @(posedge clk_i) begin
    choose_q <= some_time;
    if (!watching_q && write_i && choose_q) begin
      watching_q <= 1'b1;
      value_q    <= data_i;
      ahead_q    <= entries_q - CountBits'(pop_i);
    end else if (watching_q && pop_i) begin
      if (ahead_q == '0) watching_q <= 1'b0;
      ahead_q <= ahead_q - 1'b1;
    end
    if (rst_i) watching_q <= 1'b0;
    if (seen_q && !rst_i && watching_q) begin
      watched_within: assert (ahead_q < entries_q);
      if (valid_i && ahead_q == '0) begin
        in_order: assert (front_i == value_q) else $error("a queue changes its entries or their order");
      end
    end
    // What a proof must be able to reach, or it proves nothing: these must fail.
    if (seen_q && !rst_i) begin
      reach_full: assert (32'(entries_q) < Depth || !watching_q || 32'(ahead_q) < Depth - 1);
      reach_last: assert (!(watching_q && valid_i && ahead_q == '0 && value_q[0]));
    end
  end
`endif
endmodule

bind fgnas_fifo fgnas_fifo_rules #(.Depth(Depth), .Width(Width)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .write_i(write_i), .data_i(data_i), .valid_i(valid_o), .front_i(data_o), .pop_i(pop_i),
  .write_q_i(write_q), .read_q_i(read_q), .held_q_i(held_q), .any_q_i(any_q), .claimed_q_i(claimed_q),
  .room_q_i(room_q), .fetched_q_i(fetched_q), .spare_valid_q_i(spare_valid_q)
);

`default_nettype wire
