// The rules of AXI4 and AXI4-Lite on the kernel's ports, as assertions.
//
// Every simulation binds them to the kernel, and the proofs bind them to the reader, the writer and the control slave.
// The rules of the kernel's side are asserted. Those of the other side are asserted in a simulation, so that a bench
// that breaks the protocol is found too, and assumed in a proof.
//
// A VALID that waits for its READY is no wrong state but a hang. The bench provokes it (its couplings of channels), and
// the proofs of reader and writer contain it: with every READY low, VALID must still come.

`default_nettype none

`ifdef FORMAL
`define FGNAS_OTHER_SIDE assume
`else
`define FGNAS_OTHER_SIDE assert
`endif

/// AR and R of a manager.
module axi_read_rules #(
  parameter int unsigned AddressBits = 64,
  parameter int unsigned DataBits    = 128,
  parameter int unsigned Outstanding = 32,  // bursts without their last beat that the rules can count
  parameter bit          Data        = 1'b1 // whether R is checked too
) (
  input wire                   clk_i,
  input wire                   rst_i,
  input wire [AddressBits-1:0] araddr_i,
  input wire [7:0]             arlen_i,
  input wire [2:0]             arsize_i,
  input wire [1:0]             arburst_i,
  input wire                   arvalid_i,
  input wire                   arready_i,
  input wire [DataBits-1:0]    rdata_i,
  input wire [1:0]             rresp_i,
  input wire                   rlast_i,
  input wire                   rvalid_i,
  input wire                   rready_i
);
  localparam int unsigned CountBits = $clog2(Outstanding + 1);
  logic seen_q = 1'b0;  // a reset
  logic rst_q, waits_q, r_waits_q;
  logic [AddressBits+13-1:0] address, address_q;
  logic [DataBits+3-1:0] data, data_q;
  assign address = {araddr_i, arlen_i, arsize_i, arburst_i};
  assign data    = {rdata_i, rresp_i, rlast_i};

  // The bursts whose data are owed, the oldest first; the beats received of the oldest.
  logic [7:0] lengths_q[Outstanding];
  logic [CountBits-1:0] owed_q;
  logic [7:0] beat_q;
  logic asked, ended;
  assign asked = arvalid_i && arready_i;
  assign ended = rvalid_i && rready_i && rlast_i;

  always_ff @(posedge clk_i) begin
    rst_q     <= rst_i;
    waits_q   <= arvalid_i && !arready_i;
    address_q <= address;
    r_waits_q <= rvalid_i && !rready_i;
    data_q    <= data;
    if (ended) begin
      for (int unsigned i = 1; i < Outstanding; i++) lengths_q[i-1] <= lengths_q[i];
    end
    if (asked && Data) lengths_q[ended ? owed_q - 1'b1 : owed_q] <= arlen_i;
    owed_q <= owed_q + CountBits'(asked && Data) - CountBits'(ended);
    if (rvalid_i && rready_i) beat_q <= rlast_i ? '0 : beat_q + 1'b1;
    if (rst_i) begin
      seen_q <= 1'b1;
      owed_q <= '0;
      beat_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!seen_q) begin
`ifdef FORMAL
      begins_with_reset: assume (rst_i);
`endif
    end else if (rst_q) begin
      arvalid_in_reset: assert (!arvalid_i) else $error("AXI: ARVALID is high in or just after reset");
      rvalid_in_reset: `FGNAS_OTHER_SIDE (!rvalid_i) else $error("AXI: RVALID is high in or just after reset");
    end else if (!rst_i) begin
      if (waits_q) begin
        arvalid_stays: assert (arvalid_i) else $error("AXI: ARVALID fell before ARREADY");
        ar_stable: assert (address == address_q) else $error("AXI: AR changed before ARREADY");
      end
      if (r_waits_q) begin
        rvalid_stays: `FGNAS_OTHER_SIDE (rvalid_i) else $error("AXI: RVALID fell before RREADY");
        r_stable: `FGNAS_OTHER_SIDE (data == data_q) else $error("AXI: R changed before RREADY");
      end
    end
    if (seen_q && !rst_i && arvalid_i) begin
      ar_incrementing: assert (arburst_i == 2'b01) else $error("AXI: a read burst does not increment");
      ar_size: assert (32'(8) << arsize_i <= DataBits) else $error("AXI: ARSIZE is wider than the bus");
      ar_page: assert ({20'b0, araddr_i[11:0]} + (32'(arlen_i) + 32'd1 << arsize_i) <= 32'd4096)
      else $error("AXI: a read burst crosses 4 KiB");
      ar_count: assert (32'(owed_q) < Outstanding) else $error("AXI: more read bursts than these rules can count");
    end
    if (seen_q && !rst_i && rvalid_i) begin
      r_owed: `FGNAS_OTHER_SIDE (owed_q != '0) else $error("AXI: read data without an address");
      r_last: `FGNAS_OTHER_SIDE (rlast_i == (beat_q == lengths_q[0])) else $error("AXI: RLAST is not on the last beat");
    end
  end
endmodule

/// AW, W and B of a manager whose data never precede their address, which is more than AXI demands.
module axi_write_rules #(
  parameter int unsigned AddressBits = 64,
  parameter int unsigned DataBits    = 128,
  parameter int unsigned Outstanding = 32   // bursts without a response that the rules can count
) (
  input wire                   clk_i,
  input wire                   rst_i,
  input wire [AddressBits-1:0] awaddr_i,
  input wire [7:0]             awlen_i,
  input wire [2:0]             awsize_i,
  input wire [1:0]             awburst_i,
  input wire                   awvalid_i,
  input wire                   awready_i,
  input wire [DataBits-1:0]    wdata_i,
  input wire [DataBits/8-1:0]  wstrb_i,
  input wire                   wlast_i,
  input wire                   wvalid_i,
  input wire                   wready_i,
  input wire [1:0]             bresp_i,
  input wire                   bvalid_i,
  input wire                   bready_i
);
  localparam int unsigned CountBits = $clog2(Outstanding + 1);
  logic seen_q = 1'b0;  // a reset
  logic rst_q, aw_waits_q, w_waits_q, b_waits_q;
  logic [AddressBits+13-1:0] address, address_q;
  logic [DataBits+DataBits/8:0] data, data_q;
  logic [1:0] response_q;
  assign address = {awaddr_i, awlen_i, awsize_i, awburst_i};
  assign data    = {wdata_i, wstrb_i, wlast_i};

  // The bursts that were presented and whose data are not complete, the oldest first; the beats sent of the oldest. A
  // burst counts in the very cycle in which it is presented first.
  logic [7:0] lengths_q[Outstanding];
  logic [CountBits-1:0] open_q;
  logic [7:0] beat_q, length;
  logic present, ended;
  // Bursts without a response: whose address was accepted, and whose data were.
  logic [CountBits-1:0] asked_q, written_q;
  logic asked, answered;
  assign present  = awvalid_i && !aw_waits_q;
  assign asked    = awvalid_i && awready_i;
  assign length   = (open_q == '0) ? awlen_i : lengths_q[0];
  assign ended    = wvalid_i && wready_i && wlast_i;
  assign answered = bvalid_i && bready_i;

  always_ff @(posedge clk_i) begin
    rst_q      <= rst_i;
    aw_waits_q <= awvalid_i && !awready_i && !rst_i;
    address_q  <= address;
    w_waits_q  <= wvalid_i && !wready_i;
    data_q     <= data;
    b_waits_q  <= bvalid_i && !bready_i;
    response_q <= bresp_i;
    if (ended) begin
      for (int unsigned i = 1; i < Outstanding; i++) lengths_q[i-1] <= lengths_q[i];
    end
    if (present) lengths_q[ended && open_q != '0 ? open_q - 1'b1 : open_q] <= awlen_i;
    open_q    <= open_q + CountBits'(present) - CountBits'(ended);
    asked_q   <= asked_q + CountBits'(asked) - CountBits'(answered);
    written_q <= written_q + CountBits'(ended) - CountBits'(answered);
    if (wvalid_i && wready_i) beat_q <= wlast_i ? '0 : beat_q + 1'b1;
    if (rst_i) begin
      seen_q    <= 1'b1;
      open_q    <= '0;
      asked_q   <= '0;
      written_q <= '0;
      beat_q    <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!seen_q) begin
`ifdef FORMAL
      begins_with_reset: assume (rst_i);
`endif
    end else if (rst_q) begin
      awvalid_in_reset: assert (!awvalid_i) else $error("AXI: AWVALID is high in or just after reset");
      wvalid_in_reset: assert (!wvalid_i) else $error("AXI: WVALID is high in or just after reset");
      bvalid_in_reset: `FGNAS_OTHER_SIDE (!bvalid_i) else $error("AXI: BVALID is high in or just after reset");
    end else if (!rst_i) begin
      if (aw_waits_q) begin
        awvalid_stays: assert (awvalid_i) else $error("AXI: AWVALID fell before AWREADY");
        aw_stable: assert (address == address_q) else $error("AXI: AW changed before AWREADY");
      end
      if (w_waits_q) begin
        wvalid_stays: assert (wvalid_i) else $error("AXI: WVALID fell before WREADY");
        w_stable: assert (data == data_q) else $error("AXI: W changed before WREADY");
      end
      if (b_waits_q) begin
        bvalid_stays: `FGNAS_OTHER_SIDE (bvalid_i) else $error("AXI: BVALID fell before BREADY");
        b_stable: `FGNAS_OTHER_SIDE (bresp_i == response_q) else $error("AXI: BRESP changed before BREADY");
      end
    end
    if (seen_q && !rst_i && awvalid_i) begin
      aw_incrementing: assert (awburst_i == 2'b01) else $error("AXI: a write burst does not increment");
      aw_size: assert (32'(8) << awsize_i <= DataBits) else $error("AXI: AWSIZE is wider than the bus");
      aw_page: assert ({20'b0, awaddr_i[11:0]} + (32'(awlen_i) + 32'd1 << awsize_i) <= 32'd4096)
      else $error("AXI: a write burst crosses 4 KiB");
      aw_count: assert (32'(asked_q) < Outstanding && (aw_waits_q || 32'(open_q) < Outstanding))
      else $error("AXI: more write bursts than these rules can count");
    end
    if (seen_q && !rst_i && wvalid_i) begin
      w_owed: assert (open_q != '0 || present) else $error("AXI: write data without an address");
      w_last: assert (wlast_i == (beat_q == length)) else $error("AXI: WLAST is not on the last beat");
    end
    if (seen_q && !rst_i && bvalid_i) begin
      b_owed: `FGNAS_OTHER_SIDE (asked_q != '0 && written_q != '0)
      else $error("AXI: a write response before its address and data");
    end
  end
endmodule

/// All five channels of an AXI4-Lite subordinate.
module axi_lite_rules #(
  parameter int unsigned AddressBits = 7
) (
  input wire                   clk_i,
  input wire                   rst_i,
  input wire [AddressBits-1:0] awaddr_i,
  input wire                   awvalid_i,
  input wire                   awready_i,
  input wire [31:0]            wdata_i,
  input wire [3:0]             wstrb_i,
  input wire                   wvalid_i,
  input wire                   wready_i,
  input wire [1:0]             bresp_i,
  input wire                   bvalid_i,
  input wire                   bready_i,
  input wire [AddressBits-1:0] araddr_i,
  input wire                   arvalid_i,
  input wire                   arready_i,
  input wire [31:0]            rdata_i,
  input wire [1:0]             rresp_i,
  input wire                   rvalid_i,
  input wire                   rready_i
);
  logic seen_q = 1'b0;  // a reset
  logic rst_q, aw_waits_q, w_waits_q, b_waits_q, ar_waits_q, r_waits_q;
  logic [AddressBits-1:0] awaddr_q, araddr_q;
  logic [35:0] data_q;
  logic [1:0] bresp_q;
  logic [33:0] read_q;
  // Accepted and without a response: addresses of writes, their data, addresses of reads.
  logic [7:0] asked_q, written_q, reads_q;

  always_ff @(posedge clk_i) begin
    rst_q      <= rst_i;
    aw_waits_q <= awvalid_i && !awready_i;
    awaddr_q   <= awaddr_i;
    w_waits_q  <= wvalid_i && !wready_i;
    data_q     <= {wdata_i, wstrb_i};
    b_waits_q  <= bvalid_i && !bready_i;
    bresp_q    <= bresp_i;
    ar_waits_q <= arvalid_i && !arready_i;
    araddr_q   <= araddr_i;
    r_waits_q  <= rvalid_i && !rready_i;
    read_q     <= {rdata_i, rresp_i};
    asked_q    <= asked_q + 8'(awvalid_i && awready_i) - 8'(bvalid_i && bready_i);
    written_q  <= written_q + 8'(wvalid_i && wready_i) - 8'(bvalid_i && bready_i);
    reads_q    <= reads_q + 8'(arvalid_i && arready_i) - 8'(rvalid_i && rready_i);
    if (rst_i) begin
      seen_q    <= 1'b1;
      asked_q   <= '0;
      written_q <= '0;
      reads_q   <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!seen_q) begin
`ifdef FORMAL
      begins_with_reset: assume (rst_i);
`endif
    end else if (rst_q) begin
      bvalid_in_reset: assert (!bvalid_i) else $error("AXI4-Lite: BVALID is high in or just after reset");
      rvalid_in_reset: assert (!rvalid_i) else $error("AXI4-Lite: RVALID is high in or just after reset");
      valid_in_reset: `FGNAS_OTHER_SIDE (!awvalid_i && !wvalid_i && !arvalid_i)
      else $error("AXI4-Lite: the host asserts a VALID in or just after reset");
    end else if (!rst_i) begin
      if (b_waits_q) begin
        bvalid_stays: assert (bvalid_i) else $error("AXI4-Lite: BVALID fell before BREADY");
        b_stable: assert (bresp_i == bresp_q) else $error("AXI4-Lite: BRESP changed before BREADY");
      end
      if (r_waits_q) begin
        rvalid_stays: assert (rvalid_i) else $error("AXI4-Lite: RVALID fell before RREADY");
        r_stable: assert ({rdata_i, rresp_i} == read_q) else $error("AXI4-Lite: R changed before RREADY");
      end
      if (aw_waits_q) begin
        aw_stable: `FGNAS_OTHER_SIDE (awvalid_i && awaddr_i == awaddr_q)
        else $error("AXI4-Lite: AW changed before AWREADY");
      end
      if (w_waits_q) begin
        w_stable: `FGNAS_OTHER_SIDE (wvalid_i && {wdata_i, wstrb_i} == data_q)
        else $error("AXI4-Lite: W changed before WREADY");
      end
      if (ar_waits_q) begin
        ar_stable: `FGNAS_OTHER_SIDE (arvalid_i && araddr_i == araddr_q)
        else $error("AXI4-Lite: AR changed before ARREADY");
      end
    end
    if (seen_q && !rst_i) begin
      if (bvalid_i) begin
        b_owed: assert (asked_q != '0 && written_q != '0)
        else $error("AXI4-Lite: a write response before its address and data");
      end
      if (rvalid_i) begin
        r_owed: assert (reads_q != '0) else $error("AXI4-Lite: a read response without an address");
      end
      counts: assert (&asked_q == 1'b0 && &written_q == 1'b0 && &reads_q == 1'b0)
      else $error("AXI4-Lite: more transactions than these rules can count");
    end
  end
endmodule

`default_nettype wire
