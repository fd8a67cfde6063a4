package cns_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
	vsanfs "github.com/vmware/govmomi/vsan/vsanfs/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/cns"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// fileSpec asks for a file share.
func fileSpec(name string, mb int64, on ...vc.Ref) cnstypes.CnsVolumeCreateSpec {
	sp := spec(name, "one", mb, on...)
	sp.VolumeType = string(cnstypes.CnsVolumeTypeFile)
	details := new(cnstypes.CnsVsanFileShareBackingDetails)
	details.CapacityInMb = mb
	sp.BackingObjectDetails = details
	sp.CreateSpec = &cnstypes.CnsVSANFileCreateSpec{Permission: []vsanfs.VsanFileShareNetPermission{
		{Ips: "*", Permissions: vsanfs.VsanFileShareAccessTypeREAD_WRITE, AllowRoot: true},
	}}
	return sp
}

func TestFileShares(t *testing.T) {
	s := serve(t, 1, cns.Options{VCenter: "vc"})
	id := s.create(t, fileSpec("share", 100))
	if !strings.HasPrefix(id, "file:") {
		t.Errorf("id %s", id)
	}
	if again := s.create(t, fileSpec("share", 100)); again != id {
		t.Errorf("made %s and %s", id, again)
	}
	block := s.create(t, spec("disk", "one", 1))
	task, err := s.cns.CreateVolume(t.Context(), []cnstypes.CnsVolumeCreateSpec{fileSpec("other", 1, s.datastores[0])})
	refusedWith[*cnstypes.CnsFault](t, only(t, task, err))

	v := s.query(t, &cnstypes.CnsQueryFilter{Names: []string{"share"}}).Volumes[0]
	backing, ok := v.BackingObjectDetails.(*cnstypes.CnsVsanFileShareBackingDetails)
	if !ok {
		t.Fatalf("%T", v.BackingObjectDetails)
	}
	points := make(map[string]string)
	for _, p := range backing.AccessPoints {
		points[p.Key] = p.Value
	}
	if v.VolumeType != "FILE" || backing.CapacityInMb != 100 || "file:"+backing.BackingFileId != id || points["NFSv4.1"] == "" {
		t.Errorf("%+v %v", v, points)
	}

	configure := func(id string, gone bool, ips string, may vsanfs.VsanFileShareAccessType) cnstypes.BaseCnsVolumeOperationResult {
		t.Helper()
		task, err := s.cns.ConfigureVolumeACLs(t.Context(), cnstypes.CnsVolumeACLConfigureSpec{
			VolumeId: cnstypes.CnsVolumeId{Id: id},
			AccessControlSpecList: []cnstypes.CnsNFSAccessControlSpec{{
				Permission: []vsanfs.VsanFileShareNetPermission{{Ips: ips, Permissions: may}}, Delete: gone,
			}},
		})
		return only(t, task, err)
	}
	fine(t, configure(id, false, "10.0.0.1", vsanfs.VsanFileShareAccessTypeREAD_WRITE))
	fine(t, configure(id, false, "10.0.0.1", vsanfs.VsanFileShareAccessTypeREAD_ONLY))
	fine(t, configure(id, true, "*", ""))
	got, _ := s.Access(id)
	if diff := cmp.Diff([]vsanfs.VsanFileShareNetPermission{{Ips: "10.0.0.1", Permissions: vsanfs.VsanFileShareAccessTypeREAD_ONLY}}, got); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
	refusedWith[*types.NotSupported](t, configure(block, false, "*", ""))
	refusedWith[*types.NotFound](t, configure("file:none", false, "*", ""))

	refusedWith[*types.NotSupported](t, s.attach(t, id, s.vms[0]))
	refusedWith[*types.NotSupported](t, s.snapshot(t, id, "s"))
	fine(t, s.remove(t, id))
	refusedWith[*types.NotFound](t, s.remove(t, id))
}
