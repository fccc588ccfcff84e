// Binds the rules of AXI to every port of a kernel, generated or a vendor's.

`default_nettype none

bind fgnas_top axi_read_rules #(.DataBits($bits(m_axi_gmem_read_RDATA))) u_read_port_reads (
  .clk_i(ap_clk), .rst_i(!ap_rst_n), .araddr_i(m_axi_gmem_read_ARADDR), .arlen_i(m_axi_gmem_read_ARLEN),
  .arsize_i(m_axi_gmem_read_ARSIZE), .arburst_i(m_axi_gmem_read_ARBURST), .arvalid_i(m_axi_gmem_read_ARVALID),
  .arready_i(m_axi_gmem_read_ARREADY), .rdata_i(m_axi_gmem_read_RDATA), .rresp_i(m_axi_gmem_read_RRESP),
  .rlast_i(m_axi_gmem_read_RLAST), .rvalid_i(m_axi_gmem_read_RVALID), .rready_i(m_axi_gmem_read_RREADY)
);
bind fgnas_top axi_write_rules #(.DataBits($bits(m_axi_gmem_write_WDATA))) u_write_port_writes (
  .clk_i(ap_clk), .rst_i(!ap_rst_n), .awaddr_i(m_axi_gmem_write_AWADDR), .awlen_i(m_axi_gmem_write_AWLEN),
  .awsize_i(m_axi_gmem_write_AWSIZE), .awburst_i(m_axi_gmem_write_AWBURST), .awvalid_i(m_axi_gmem_write_AWVALID),
  .awready_i(m_axi_gmem_write_AWREADY), .wdata_i(m_axi_gmem_write_WDATA), .wstrb_i(m_axi_gmem_write_WSTRB),
  .wlast_i(m_axi_gmem_write_WLAST), .wvalid_i(m_axi_gmem_write_WVALID), .wready_i(m_axi_gmem_write_WREADY),
  .bresp_i(m_axi_gmem_write_BRESP), .bvalid_i(m_axi_gmem_write_BVALID), .bready_i(m_axi_gmem_write_BREADY)
);
bind fgnas_top axi_lite_rules #(.AddressBits($bits(s_axi_control_AWADDR))) u_control_port (
  .clk_i(ap_clk), .rst_i(!ap_rst_n), .awaddr_i(s_axi_control_AWADDR), .awvalid_i(s_axi_control_AWVALID),
  .awready_i(s_axi_control_AWREADY), .wdata_i(s_axi_control_WDATA), .wstrb_i(s_axi_control_WSTRB),
  .wvalid_i(s_axi_control_WVALID), .wready_i(s_axi_control_WREADY), .bresp_i(s_axi_control_BRESP),
  .bvalid_i(s_axi_control_BVALID), .bready_i(s_axi_control_BREADY), .araddr_i(s_axi_control_ARADDR),
  .arvalid_i(s_axi_control_ARVALID), .arready_i(s_axi_control_ARREADY), .rdata_i(s_axi_control_RDATA),
  .rresp_i(s_axi_control_RRESP), .rvalid_i(s_axi_control_RVALID), .rready_i(s_axi_control_RREADY)
);

/// The channels of an m_axi port that the kernel does not use.
module unused_channels (
  input wire clk_i,
  input wire rst_i,
  input wire valid_i
);
  always_ff @(posedge clk_i) begin
    if (!rst_i) begin
      rests: assert (!valid_i) else $error("a write on the port that reads, or a read on the port that writes");
    end
  end
endmodule
bind fgnas_top unused_channels u_unused_channels (
  .clk_i(ap_clk), .rst_i(!ap_rst_n),
  .valid_i(m_axi_gmem_read_AWVALID || m_axi_gmem_read_WVALID || m_axi_gmem_write_ARVALID)
);

`default_nettype wire
