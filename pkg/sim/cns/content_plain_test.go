package cns_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/disk"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
)

// What was written to a disk of the in-tree provider is on the volume that it becomes.
func TestContentOfFile(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, 1, cns.Options{Dir: dir})
	dc := object.NewDatacenter(s.vim, s.ctx.Map.Any("Datacenter").Reference())
	name := s.ctx.Map.Get(s.datastores[0]).(*simulator.Datastore).Name
	file := func(path string) string { return (&object.DatastorePath{Datastore: name, Path: path}).String() }
	for _, folder := range []string{"kubevols", "others"} {
		if err := object.NewFileManager(s.vim).MakeDirectory(t.Context(), file(folder), dc, true); err != nil {
			t.Fatal(err)
		}
		done(t)(object.NewVirtualDiskManager(s.vim).CreateVirtualDisk(t.Context(), file(folder+"/a.vmdk"), dc, &types.FileBackedVirtualDiskSpec{CapacityKb: 32 << 10}))
	}
	for _, none := range []string{file("others/a.vmdk"), file("kubevols/b.vmdk"), "[nowhere] kubevols/a.vmdk", "a.vmdk"} {
		if at := s.DirOfFile(none); at != "" {
			t.Errorf("%s has a content: %s", none, at)
		}
	}
	at := s.DirOfFile(file("kubevols/a.vmdk"))
	if size, err := disk.Size(at); err != nil || size != 32<<20 {
		t.Fatalf("%s: %d bytes, %v", at, size, err)
	}
	d, err := disk.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Data(), "file"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	sp := spec("a", "c", 0)
	q := url.Values{"dcPath": {"DC0"}, "dsName": {name}}
	sp.BackingObjectDetails = &cnstypes.CnsBlockBackingDetails{BackingDiskUrlPath: "https://vc/folder/kubevols/a.vmdk?" + q.Encode()}
	id := s.create(t, sp)
	if now := s.Dir(id); now != at || s.DirOfFile(file("kubevols/a.vmdk")) != at {
		t.Errorf("the volume's content is %s, the disk's was %s", now, at)
	}
	if b, err := os.ReadFile(filepath.Join(d.Data(), "file")); string(b) != "old" || err != nil {
		t.Errorf("%q %v", b, err)
	}
}
