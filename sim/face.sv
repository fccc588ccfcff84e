// A kernel's interface as plain AXI4 and AXI4-Lite, for bus models without vendor-specific signals. The unused half of
// each m_axi port is tied off; a write on the read port or a read on the write port shows on `stray`.

`default_nettype none
`timescale 1ns / 1ps

module face #(
  parameter int unsigned BeatBytes = 16  // of the memory ports
) (
  input  wire          ap_clk,
  input  wire          ap_rst_n,
  output logic [63:0]  m_axi_gmem_read_ARADDR,
  output logic         m_axi_gmem_read_ARID,
  output logic [7:0]   m_axi_gmem_read_ARLEN,
  output logic [2:0]   m_axi_gmem_read_ARSIZE,
  output logic [1:0]   m_axi_gmem_read_ARBURST,
  output logic         m_axi_gmem_read_ARVALID,
  input  wire          m_axi_gmem_read_ARREADY,
  input  wire  [8*BeatBytes-1:0] m_axi_gmem_read_RDATA,
  input  wire          m_axi_gmem_read_RID,
  input  wire  [1:0]   m_axi_gmem_read_RRESP,
  input  wire          m_axi_gmem_read_RLAST,
  input  wire          m_axi_gmem_read_RVALID,
  output logic         m_axi_gmem_read_RREADY,
  output logic [63:0]  m_axi_gmem_write_AWADDR,
  output logic         m_axi_gmem_write_AWID,
  output logic [7:0]   m_axi_gmem_write_AWLEN,
  output logic [2:0]   m_axi_gmem_write_AWSIZE,
  output logic [1:0]   m_axi_gmem_write_AWBURST,
  output logic         m_axi_gmem_write_AWVALID,
  input  wire          m_axi_gmem_write_AWREADY,
  output logic [8*BeatBytes-1:0] m_axi_gmem_write_WDATA,
  output logic [BeatBytes-1:0] m_axi_gmem_write_WSTRB,
  output logic         m_axi_gmem_write_WLAST,
  output logic         m_axi_gmem_write_WVALID,
  input  wire          m_axi_gmem_write_WREADY,
  input  wire          m_axi_gmem_write_BID,
  input  wire  [1:0]   m_axi_gmem_write_BRESP,
  input  wire          m_axi_gmem_write_BVALID,
  output logic         m_axi_gmem_write_BREADY,
  input  wire  [6:0]   s_axi_control_AWADDR,
  input  wire          s_axi_control_AWVALID,
  output logic         s_axi_control_AWREADY,
  input  wire  [31:0]  s_axi_control_WDATA,
  input  wire  [3:0]   s_axi_control_WSTRB,
  input  wire          s_axi_control_WVALID,
  output logic         s_axi_control_WREADY,
  output logic [1:0]   s_axi_control_BRESP,
  output logic         s_axi_control_BVALID,
  input  wire          s_axi_control_BREADY,
  input  wire  [6:0]   s_axi_control_ARADDR,
  input  wire          s_axi_control_ARVALID,
  output logic         s_axi_control_ARREADY,
  output logic [31:0]  s_axi_control_RDATA,
  output logic [1:0]   s_axi_control_RRESP,
  output logic         s_axi_control_RVALID,
  input  wire          s_axi_control_RREADY,
  output logic         interrupt,
  output logic         stray
);
  logic read_side_writes, write_side_reads;
  assign stray = read_side_writes || write_side_reads;

  fgnas_top u_kernel (
    .ap_clk(ap_clk), .ap_rst_n(ap_rst_n), .m_axi_gmem_read_ARADDR(m_axi_gmem_read_ARADDR),
    .m_axi_gmem_read_ARID(m_axi_gmem_read_ARID), .m_axi_gmem_read_ARLEN(m_axi_gmem_read_ARLEN),
    .m_axi_gmem_read_ARSIZE(m_axi_gmem_read_ARSIZE), .m_axi_gmem_read_ARBURST(m_axi_gmem_read_ARBURST),
    .m_axi_gmem_read_ARVALID(m_axi_gmem_read_ARVALID), .m_axi_gmem_read_ARREADY(m_axi_gmem_read_ARREADY),
    .m_axi_gmem_read_RDATA(m_axi_gmem_read_RDATA), .m_axi_gmem_read_RID(m_axi_gmem_read_RID),
    .m_axi_gmem_read_RRESP(m_axi_gmem_read_RRESP), .m_axi_gmem_read_RLAST(m_axi_gmem_read_RLAST),
    .m_axi_gmem_read_RVALID(m_axi_gmem_read_RVALID), .m_axi_gmem_read_RREADY(m_axi_gmem_read_RREADY),
    .m_axi_gmem_write_AWADDR(m_axi_gmem_write_AWADDR), .m_axi_gmem_write_AWID(m_axi_gmem_write_AWID),
    .m_axi_gmem_write_AWLEN(m_axi_gmem_write_AWLEN), .m_axi_gmem_write_AWSIZE(m_axi_gmem_write_AWSIZE),
    .m_axi_gmem_write_AWBURST(m_axi_gmem_write_AWBURST), .m_axi_gmem_write_AWVALID(m_axi_gmem_write_AWVALID),
    .m_axi_gmem_write_AWREADY(m_axi_gmem_write_AWREADY), .m_axi_gmem_write_WDATA(m_axi_gmem_write_WDATA),
    .m_axi_gmem_write_WSTRB(m_axi_gmem_write_WSTRB), .m_axi_gmem_write_WLAST(m_axi_gmem_write_WLAST),
    .m_axi_gmem_write_WVALID(m_axi_gmem_write_WVALID), .m_axi_gmem_write_WREADY(m_axi_gmem_write_WREADY),
    .m_axi_gmem_write_BID(m_axi_gmem_write_BID), .m_axi_gmem_write_BRESP(m_axi_gmem_write_BRESP),
    .m_axi_gmem_write_BVALID(m_axi_gmem_write_BVALID), .m_axi_gmem_write_BREADY(m_axi_gmem_write_BREADY),
    .s_axi_control_AWADDR(s_axi_control_AWADDR), .s_axi_control_AWVALID(s_axi_control_AWVALID),
    .s_axi_control_AWREADY(s_axi_control_AWREADY), .s_axi_control_WDATA(s_axi_control_WDATA),
    .s_axi_control_WSTRB(s_axi_control_WSTRB), .s_axi_control_WVALID(s_axi_control_WVALID),
    .s_axi_control_WREADY(s_axi_control_WREADY), .s_axi_control_BRESP(s_axi_control_BRESP),
    .s_axi_control_BVALID(s_axi_control_BVALID), .s_axi_control_BREADY(s_axi_control_BREADY),
    .s_axi_control_ARADDR(s_axi_control_ARADDR), .s_axi_control_ARVALID(s_axi_control_ARVALID),
    .s_axi_control_ARREADY(s_axi_control_ARREADY), .s_axi_control_RDATA(s_axi_control_RDATA),
    .s_axi_control_RRESP(s_axi_control_RRESP), .s_axi_control_RVALID(s_axi_control_RVALID),
    .s_axi_control_RREADY(s_axi_control_RREADY), .interrupt(interrupt), .m_axi_gmem_read_AWREADY(1'b0),
    .m_axi_gmem_read_AWVALID(read_side_writes), .m_axi_gmem_read_WREADY(1'b0), .m_axi_gmem_read_BRESP(2'b0),
    .m_axi_gmem_read_BID(1'b0), .m_axi_gmem_read_BUSER(1'b0), .m_axi_gmem_read_BVALID(1'b0),
    .m_axi_gmem_read_RUSER(1'b0), .m_axi_gmem_write_BUSER(1'b0), .m_axi_gmem_write_ARREADY(1'b0),
    .m_axi_gmem_write_ARVALID(write_side_reads), .m_axi_gmem_write_RDATA((8*BeatBytes)'(0)), .m_axi_gmem_write_RRESP(2'b0),
    .m_axi_gmem_write_RLAST(1'b0), .m_axi_gmem_write_RID(1'b0), .m_axi_gmem_write_RUSER(1'b0),
    .m_axi_gmem_write_RVALID(1'b0)
  );
endmodule

`default_nettype wire
