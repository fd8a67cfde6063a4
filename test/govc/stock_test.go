package govc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// TestStockCommands runs the commands that stock vcsim answers and that a vCenter without its smaller APIs does not.
func TestStockCommands(t *testing.T) {
	steps := parse(t, "testdata/stock.txt")
	lab := sim.Start(t, "testdata/topology.yaml")
	v := lab.VCenters()[0]
	home := t.TempDir()
	env := []string{
		asGovc + "=yes", "HOME=" + home, "GOVMOMI_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"GOVC_URL=" + v.URL().String(), "GOVC_USERNAME=" + v.User(), "GOVC_PASSWORD=" + v.Password(),
		"GOVC_TLS_CA_CERTS=" + lab.CAFile, "GORACE=atexit_sleep_ms=0",
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"USER": v.User(), "TMP": t.TempDir(), "ADDR": v.Addr(), "UUID": v.InstanceUUID()}
	for name, text := range map[string]string{"small.ovf": ovf, "small-disk1.vmdk": "disk", "small.iso": "disk"} {
		if err := os.WriteFile(filepath.Join(variables["TMP"], name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range steps {
		run(t, self, env, s, variables)
	}
}

// ovf is a VM with one disk.
var ovf = strings.TrimSpace(`
<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"
  xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData"
  xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
  <References><File ovf:href="small-disk1.vmdk" ovf:id="file1" ovf:size="4"/></References>
  <DiskSection><Info>Disks</Info>
    <Disk ovf:capacity="1" ovf:capacityAllocationUnits="byte * 2^20" ovf:diskId="vmdisk1" ovf:fileRef="file1"/>
  </DiskSection>
  <NetworkSection><Info>Networks</Info><Network ovf:name="nat"><Description>nat</Description></Network></NetworkSection>
  <VirtualSystem ovf:id="small"><Info>A VM</Info><Name>small</Name>
    <OperatingSystemSection ovf:id="36"><Info>Linux</Info></OperatingSystemSection>
    <VirtualHardwareSection><Info>Hardware</Info>
      <System><vssd:ElementName>Virtual Hardware Family</vssd:ElementName><vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>small</vssd:VirtualSystemIdentifier><vssd:VirtualSystemType>vmx-13</vssd:VirtualSystemType></System>
      <Item><rasd:ElementName>1 CPU</rasd:ElementName><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>1</rasd:VirtualQuantity></Item>
      <Item><rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits><rasd:ElementName>32 MB</rasd:ElementName><rasd:InstanceID>2</rasd:InstanceID><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>32</rasd:VirtualQuantity></Item>
      <Item><rasd:Address>0</rasd:Address><rasd:ElementName>SCSI</rasd:ElementName><rasd:InstanceID>3</rasd:InstanceID><rasd:ResourceSubType>lsilogic</rasd:ResourceSubType><rasd:ResourceType>6</rasd:ResourceType></Item>
      <Item><rasd:AddressOnParent>0</rasd:AddressOnParent><rasd:ElementName>disk0</rasd:ElementName><rasd:HostResource>ovf:/disk/vmdisk1</rasd:HostResource><rasd:InstanceID>4</rasd:InstanceID><rasd:Parent>3</rasd:Parent><rasd:ResourceType>17</rasd:ResourceType></Item>
    </VirtualHardwareSection>
  </VirtualSystem>
</Envelope>
`)

// TestLeftOutIsNamed: what stock answers and this does not is in the documentation, by its command.
func TestLeftOutIsNamed(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, s := range parse(t, "testdata/stock.txt") {
		if s.exit == 0 {
			continue
		}
		left++
		if name, _, _ := strings.Cut(s.command, " "); !strings.Contains(string(page), "govc "+name) {
			t.Errorf("stock.txt:%d: govc %s fails, and docs/simulation.md does not say so", s.line, name)
		}
	}
	if left == 0 {
		t.Error("nothing is left out")
	}
}
