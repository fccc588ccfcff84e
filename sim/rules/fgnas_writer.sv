// The rules of the writer: its user's, its promises, and what its registers mean. Those of its bus are in axi.sv.

`default_nettype none

`ifdef PROVE_WRITER
`define FGNAS_WRITER_USER assume
`else
`define FGNAS_WRITER_USER assert
`endif

module fgnas_writer_rules #(
  parameter int unsigned Outstanding     = 32,
  parameter int unsigned BeatAddressBits = 60,
  parameter int unsigned PageBeats       = 256,
  parameter int unsigned PlaceBits       = 8,
  parameter int unsigned BurstBits       = 9
) (
  input wire clk_i,
  input wire rst_i,
  input wire start_i,
  input wire flush_i,
  input wire [fgnas_pkg::AddressBits-1:0] address_i,
  input wire [fgnas_pkg::RegisterBits-1:0] beats_i,
  input wire done_i,
  input wire valid_i,
  input wire ready_i,
  input wire [fgnas_pkg::BeatBits-1:0] beat_i,
  input wire [fgnas_pkg::AddressBits-1:0] awaddr_i,
  input wire [7:0] awlen_i,
  input wire awvalid_i,
  input wire awready_i,
  input wire [fgnas_pkg::BeatBits-1:0] wdata_i,
  input wire [fgnas_pkg::BeatBytes-1:0] wstrb_i,
  input wire wlast_i,
  input wire wvalid_i,
  input wire wready_i,
  input wire [1:0] bresp_i,
  input wire bvalid_i,
  input wire bready_i,
  input wire [BeatAddressBits-1:0] address_q_i,
  input wire [fgnas_pkg::RegisterBits-1:0] left_q_i,
  input wire [fgnas_pkg::RegisterBits-1:0] data_left_q_i,
  input wire asking_q_i,
  input wire taking_q_i,
  input wire final_q_i,
  input wire [PlaceBits-1:0] place_q_i,
  input wire presented_q_i,
  input wire [4:0] open_q_i,
  input wire any_open_q_i,
  input wire [4:0] unanswered_q_i,
  input wire room_q_i,
  input wire [BurstBits-1:0] burst_q_i
);
  axi_write_rules #(
    .AddressBits(fgnas_pkg::AddressBits), .DataBits(8 * fgnas_pkg::BeatBytes), .Outstanding(Outstanding)
  ) u_bus (
    .clk_i(clk_i), .rst_i(rst_i), .awaddr_i(awaddr_i), .awlen_i(awlen_i), .awsize_i(3'($clog2(fgnas_pkg::BeatBytes))), .awburst_i(2'b01),
    .awvalid_i(awvalid_i), .awready_i(awready_i), .wdata_i((8 * fgnas_pkg::BeatBytes)'(wdata_i)), .wstrb_i(wstrb_i), .wlast_i(wlast_i),
    .wvalid_i(wvalid_i), .wready_i(wready_i), .bresp_i(bresp_i), .bvalid_i(bvalid_i), .bready_i(bready_i)
  );

  typedef logic [fgnas_pkg::RegisterBits-1:0] count_t;

  // The region: addresses and data that are still owed, the beat and the address to come next; the last beat taken.
  logic seen_q = 1'b0;  // a reset
  logic begun_q;        // a region, since the reset
  count_t ask_q, send_q;
  logic [BeatAddressBits-1:0] next_q;
  logic [fgnas_pkg::BeatBits-1:0] taken_q;
  logic flushed_q;
  logic start_q;
  // Cycles in which an address, and a beat, could have been on the bus and was not.
  logic [1:0] address_waited_q, waited_q;
  logic take;
  assign take = ready_i && (valid_i || flush_i);
  always_ff @(posedge clk_i) begin
    if (awvalid_i && awready_i) begin
      ask_q  <= ask_q - count_t'(awlen_i) - count_t'(1);
      next_q <= next_q + BeatAddressBits'(awlen_i) + BeatAddressBits'(1);
    end
    if (wvalid_i && wready_i) send_q <= send_q - count_t'(1);
    if (take) begin
      taken_q   <= beat_i;
      flushed_q <= flush_i;
    end
    waited_q <= (!wvalid_i && u_bus.open_q != '0 && (valid_i || flush_i)) ? waited_q + 2'(!(&waited_q)) : '0;
    address_waited_q <= (ask_q != '0 && unanswered_q_i < 5'd30 && !awvalid_i) ?
        address_waited_q + 2'(!(&address_waited_q)) : '0;
    start_q <= start_i;
    if (start_i) begin
      begun_q <= 1'b1;
      ask_q   <= beats_i;
      send_q  <= beats_i;
      next_q  <= address_i[fgnas_pkg::AddressBits-1:fgnas_pkg::AlignBits];
    end
    if (rst_i) begin
      seen_q   <= 1'b1;
      begun_q  <= 1'b0;
      ask_q    <= '0;
      send_q   <= '0;
      waited_q <= '0;
      address_waited_q <= '0;
    end
  end

  // The beats that are presented and not sent, from the queue of bursts: the oldest, those between, the youngest.
  count_t unpresented, sent_place;
  count_t oldest, youngest, presented;
  logic [PlaceBits-1:0] next_place;
  assign unpresented = ask_q - (presented_q_i ? count_t'(awlen_i) + count_t'(1) : count_t'(0));
  assign next_place  = next_q[PlaceBits-1:0] + (presented_q_i ? PlaceBits'(awlen_i) + PlaceBits'(1) : PlaceBits'(0));
  assign sent_place  = count_t'(PlaceBits'(place_q_i - PlaceBits'(wvalid_i)));
  assign oldest      = count_t'(u_bus.lengths_q[0]) + count_t'(1) - count_t'(u_bus.beat_q);
  assign youngest    = count_t'(u_bus.lengths_q[5'(u_bus.open_q-1'b1)]) + count_t'(1);
  logic [BurstBits-1:0] to_page, burst;  // beats from the next address to the end of its page, or of the region
  assign to_page = BurstBits'(PageBeats) - BurstBits'(next_q[PlaceBits-1:0]);
  assign burst   = (ask_q < count_t'(to_page)) ? BurstBits'(ask_q) : to_page;
  logic whole_between;  // every burst between the two is a whole page
  always_comb begin
    whole_between = 1'b1;
    for (int unsigned i = 1; i < Outstanding - 1; i++) begin
      if (i + 1 < 32'(u_bus.open_q) && 32'(u_bus.lengths_q[i]) != PageBeats - 1) whole_between = 1'b0;
    end
    unique case (u_bus.open_q)
      '0: presented = '0;
      6'd1: presented = oldest;
      default: presented = oldest + count_t'(PageBeats * (32'(u_bus.open_q) - 2)) + youngest;
    endcase
  end

  always_ff @(posedge clk_i) begin
    one_reset: assert (seen_q == u_bus.seen_q);
    if (seen_q && !rst_i) begin
      if (start_i) begin
        starts_done: `FGNAS_WRITER_USER (done_i || !begun_q) else $error("a region is written before the last is done");
        starts_some: `FGNAS_WRITER_USER (beats_i != '0) else $error("a region without a beat is written");
        starts_within: `FGNAS_WRITER_USER (address_i[fgnas_pkg::AddressBits-1:fgnas_pkg::AlignBits] <= ~BeatAddressBits'(beats_i))
        else $error("a region is written beyond the last address");
      end
      if (awvalid_i) begin
        aw_next: assert (awaddr_i == {next_q, (fgnas_pkg::AlignBits)'(0)}) else $error("a write burst is not where the last one ended");
        aw_whole: assert (32'(awlen_i) + 1 == 32'(burst)) else $error("a write burst ends neither with its page nor with the region");
      end
      if (wvalid_i) begin
        w_left: assert (send_q != '0) else $error("more beats are written than the region has");
        w_beat: assert (flushed_q || wdata_i == taken_q) else $error("a beat is written that was not taken");
        w_strobe: assert (wstrb_i == {fgnas_pkg::BeatBytes{!flushed_q}}) else $error("a beat has the wrong bytes enabled");
      end
      // Neither awaits a READY.
      aw_comes: assert (address_waited_q == '0) else $error("AXI: AWVALID waits");
      w_comes: assert (waited_q == '0 || wvalid_i) else $error("AXI: WVALID waits");
      not_done_at_once: assert (!start_q || !done_i) else $error("a region is done as soon as it begins");
      ends: assert ((begun_q && !done_i) || (ask_q == '0 && send_q == '0 && u_bus.asked_q == '0))
      else $error("a region is done before its last response");

      // What the registers mean.
      address: assert (!asking_q_i || address_q_i == next_q) else $error("the writer's address is wrong");
      left: assert (!begun_q || left_q_i == ask_q || !asking_q_i) else $error("the writer's count is wrong");
      asking: assert (asking_q_i == (ask_q != '0)) else $error("the writer does not know whether it has to ask");
      burst_right: assert (!asking_q_i || burst_q_i == burst) else $error("the writer's burst is wrong");
      taking: assert (taking_q_i == (send_q != count_t'(wvalid_i))) else $error("the writer's taking is wrong");
      data_left: assert (!taking_q_i || data_left_q_i == send_q - count_t'(wvalid_i)) else $error("the writer's data are wrong");
      final_beat: assert (!taking_q_i || final_q_i == (data_left_q_i == count_t'(1))) else $error("the writer's end is wrong");
      presented_before: assert (presented_q_i == u_bus.aw_waits_q) else $error("the writer's presented is wrong");
      presented_stays: assert (!presented_q_i || awvalid_i) else $error("the writer forgets a burst");
      opened: assert (32'(open_q_i) + 32'(wvalid_i && wlast_i) == 32'(u_bus.open_q))
      else $error("the writer counts its open bursts wrongly");
      any_open: assert (any_open_q_i == (open_q_i != '0)) else $error("the writer does not know whether one is open");
      unanswered: assert (32'(unanswered_q_i) == 32'(u_bus.asked_q)) else $error("the writer's responses are wrong");
      room: assert (room_q_i == (unanswered_q_i != 5'd31)) else $error("the writer's room is wrong");
      // What the queue of bursts means.
      owed: assert (send_q == unpresented + presented && presented <= send_q) else $error("presented and unpresented beats are not the region");
      open_and_asked: assert (32'(u_bus.open_q) + 32'(u_bus.written_q) == 32'(u_bus.asked_q) + 32'(presented_q_i))
      else $error("bursts are lost");
      if (u_bus.open_q != '0) begin
        oldest_left: assert (u_bus.beat_q <= u_bus.lengths_q[0]);
        oldest_short: assert (32'(u_bus.lengths_q[0]) < PageBeats);
        oldest_page: assert (sent_place + oldest <= count_t'(PageBeats));
        oldest_ends: assert (sent_place + oldest == count_t'(PageBeats) || (u_bus.open_q == 6'd1 && unpresented == '0));
        youngest_page: assert (youngest <= count_t'(PageBeats));
        youngest_ends: assert (u_bus.open_q == 6'd1 || youngest == count_t'(PageBeats) || unpresented == '0);
      end else begin
        none_open: assert (u_bus.beat_q == '0);
      end
      between: assert (whole_between) else $error("a burst between the oldest and the youngest is no whole page");
      // The place of the first unpresented beat in its page.
      place: assert (unpresented == '0 || next_place == (u_bus.open_q == '0 ? sent_place[PlaceBits-1:0] : PlaceBits'(0)));
`ifdef PROVE_WRITER
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_page: assert (!(wvalid_i && wlast_i && send_q != count_t'(1)));
      reach_end: assert (!(begun_q && done_i && !start_q && bready_i));
      reach_presented: assert (!(wvalid_i && u_bus.asked_q == '0));
`endif
    end
  end

endmodule

bind fgnas_writer fgnas_writer_rules #(
  .BeatAddressBits(BeatAddressBits), .PageBeats(PageBeats), .PlaceBits(PlaceBits), .BurstBits(BurstBits)
) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .flush_i(flush_i), .address_i(address_i), .beats_i(beats_i),
  .done_i(done_o), .valid_i(valid_i), .ready_i(ready_o), .beat_i(beat_i), .awaddr_i(awaddr_o), .awlen_i(awlen_o),
  .awvalid_i(awvalid_o), .awready_i(awready_i), .wdata_i(wdata_o), .wstrb_i(wstrb_o), .wlast_i(wlast_o),
  .wvalid_i(wvalid_o), .wready_i(wready_i), .bresp_i(bresp_i), .bvalid_i(bvalid_i), .bready_i(bready_o),
  .address_q_i(address_q), .left_q_i(left_q), .data_left_q_i(data_left_q), .asking_q_i(asking_q),
  .taking_q_i(taking_q), .final_q_i(final_q), .place_q_i(place_q), .presented_q_i(presented_q), .open_q_i(open_q),
  .any_open_q_i(any_open_q), .unanswered_q_i(unanswered_q), .room_q_i(room_q), .burst_q_i(burst_q)
);

`default_nettype wire
