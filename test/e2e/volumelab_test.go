package e2e

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// The cases that need a separate datacenter: datastores that not all hosts mount, names with umlauts, storage vMotion.
func TestVolumeLab(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	s := h.up("volumelab", h.shipped("test/e2e/testdata/volumes/lab.yaml"), "--csi", "builtin")
	all, err := s.Client.Datastores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var fill []string
	folder := ""
	for _, ds := range all {
		fill = append(fill, "URL-OF-"+ds.Name, ds.URL)
		folder = path.Dir(ds.Path)
	}
	s.Run("govc", "folder.create", "-pod", folder+"/pod")
	s.Run("govc", "object.mv", folder+"/Daten Köln 1", folder+"/pod")
	s.Run("govc", "datastore.maintenance.enter", "-ds", "ds-b1")
	t.Run("posted", func(t *testing.T) { (&home{s.In(t)}).attach(s.Name).judge("lab/*.yaml", fill...) })
	t.Run("afterwards", func(t *testing.T) {
		(&home{s.In(t)}).attach(s.Name).each([]after{
			{name: "l8-maint", run: maintenanceEnds},
			{name: "l10-pref", run: preferred},
			{name: "l7-svmotion", run: storageVMotion},
			{name: "a15-move", run: moveRefused},
			{name: "a16-snapshot", run: frozenBySnapshot},
			{name: "l20-multiattach", run: unavailableAfterOutage},
		})
	})
}

func maintenanceEnds(s *sandbox) {
	s.Run("govc", "datastore.maintenance.exit", "-ds", "ds-b1")
	s.awaitVolume("maintained", api.VolumeDetached, time.Minute)
}

// preferred: volumes are on the preferred datastore of their zone, and on none that only the present host of a node mounts.
func preferred(s *sandbox) {
	for claim, datastore := range map[string]string{"preferred": "ds-a2", "region-only": "ds-r", "reached": "ds-r", "umlauts": "Daten Köln 1"} {
		if v := s.volumes()[claim]; v.Datastore != datastore {
			s.T.Errorf("%+v, want datastore %s", v, datastore)
		}
	}
}

// storageVMotion: all disks of the VM move with it, and the pod gets its volume on another node afterwards.
func storageVMotion(s *sandbox) {
	s.Run("govc", "vm.migrate", "-ds", "ds-a2", "wa-2")
	s.Await("the volume is on ds-a2", time.Minute, func() bool { return s.volumes()["moving"].Datastore == "ds-a2" })
	v := s.volumes()["moving"]
	if text := s.Run("govc", "volume.ls", "-json", v.Handle); !strings.Contains(text, s.datastore("vc", "ds-a2").URL) {
		s.T.Error(text)
	}
	if text := s.Run("govc", "device.info", "-json", "-vm", "wa-2"); !strings.Contains(text, "[ds-a2] wa-2/") || strings.Contains(text, "[ds-a1]") {
		s.T.Error(text)
	}
	s.Run("kubectl", "delete", "pod", "moving", "--timeout=60s")
	s.awaitVolume("moving", api.VolumeDetached, time.Minute)
}

// moveRefused: a VM with a disk that the other host does not reach stays where it is, and the error names the datastore.
func moveRefused(s *sandbox) {
	id := strings.TrimSpace(s.Run("govc", "disk.create", "-ds", "ds-b2-part", "-size", "1G", "out-of-reach"))
	s.Run("govc", "disk.attach", "-ds", "ds-b2-part", "-vm", "wb-1", id)
	if r := s.Try("--name", s.Name, "vm", "move", "wb-1", "--to", "esx-b-2"); r.Code == 0 || strings.Contains(r.Err, "*types.") || !strings.Contains(r.Err, "ds-b2-part") {
		s.T.Errorf("%d: %s", r.Code, r.Both())
	}
}

// frozenBySnapshot: a volume cannot be detached from a VM while a snapshot of the VM has its disk.
func frozenBySnapshot(s *sandbox) {
	s.Run("govc", "snapshot.create", "-vm", "wa-1", "before")
	s.Run("kubectl", "delete", "pod", "frozen", "--timeout=60s")
	s.Await("the vCenter refuses to detach it", time.Minute, func() bool {
		return strings.Contains(s.volumes()["frozen"].Waits, "Invalid configuration for device '0'")
	})
	s.Run("govc", "snapshot.remove", "-vm", "wa-1", "before")
	s.awaitVolume("frozen", api.VolumeDetached, 2*time.Minute)
}

// unavailableAfterOutage: a Deployment whose successor waits for the disk of a dead VM is not available.
func unavailableAfterOutage(s *sandbox) {
	v := s.volumes()["outage"]
	s.vm("power-off", v.VM)
	s.Await("the successor waits for the disk", 2*time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "events", "--field-selector", "reason=FailedAttachVolume", "-o", "jsonpath={.items[*].message}"), "detach")
	})
	if is := s.state().differs("Deployment outage", "ready 0"); is != "" {
		s.T.Error(is)
	}
	s.Run("vm", "power-on", v.VM)
	s.Run("kubectl", "wait", "deployment/outage", "--for=condition=Available", "--timeout=90s")
}

// untagged is a topology of two clusters, each with a datastore and a node, and a datastore of both. A and B are the tags of the
// clusters.
const untagged = `
apiVersion: sandbox.vsphere/v1alpha1
kind: Topology
metadata: {name: untagged}
spec:
  vcenters:
    - name: vc
      datacenters:
        - name: dc
          clusters:
            - {name: ca, A hosts: [{name: esx-a-1}]}
            - {name: cb, B hosts: [{name: esx-b-1}]}
          datastores:
            - {name: ds-a, clusters: [ca]}
            - {name: ds-b, clusters: [cb]}
            - {name: ds-both, clusters: [ca, cb]}
          vms:
            - {name: cp-1, role: control-plane, cluster: ca}
            - {name: wa-1, role: worker, cluster: ca}
            - {name: wb-1, role: worker, cluster: cb}
`

// Clusters without zones, or with half of the tags of a zone: a volume is on a datastore that all nodes reach, and a pod on any node
// gets it. A claim for another datastore is refused with the reason.
func TestUntagged(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHome(t)
	for _, c := range []struct{ name, a, b string }{
		{"only-zone", "zone: zone-a,", ""},
		{"only-region", "region: r1,", ""},
		{"mixed", "zone: zone-a,", "region: r1,"},
		{"no-zone", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := (&home{h.In(t)}).up(c.name, h.File(c.name+".yaml", strings.NewReplacer("A hosts", c.a+" hosts", "B hosts", c.b+" hosts").Replace(untagged)), "--csi", "builtin")
			s.judge("untagged/*.yaml", "URL-OF-ds-b", s.datastore("vc", "ds-b").URL)
			for _, node := range []string{"wa-1", "wb-1"} {
				if v := s.volumes()[node]; v.Node != node || v.Datastore != "ds-both" {
					t.Errorf("%+v", v)
				}
			}
			s.Run("down")
		})
	}
}
