package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// bound is how long a claim may take to become a volume that a pod runs with.
const bound = time.Minute

// volumes lists them, by claim.
func (s *sandbox) volumes() map[string]api.Volume {
	s.T.Helper()
	all, err := s.Client.Volumes(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	m := map[string]api.Volume{}
	for _, v := range all {
		m[strings.TrimPrefix(v.Claim, "default/")] = v
	}
	return m
}

// shipped is a file of the repository, where the user of the tests can read it.
func (h *home) shipped(path string) string {
	h.T.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		h.T.Fatal(err)
	}
	return h.File(filepath.Base(path), string(text))
}

// awaitVolume waits until a volume is in a state.
func (s *sandbox) awaitVolume(claim string, state api.VolumeState, within time.Duration) api.Volume {
	s.T.Helper()
	s.Await(claim+" "+string(state), within, func() bool { return s.volumes()[claim].State == state })
	return s.volumes()[claim]
}

// The tutorial's StatefulSet: a pod and a volume in each zone, from the claim to the VM's disk.
func TestStatefulSet(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("stateful", append(ownPort(), "zones-us-eu", "--csi", "builtin")...)
	s.Run("kubectl", "apply", "-f", s.shipped("tutorials/volumes/statefulset.yaml"))
	zones := map[string]string{}
	for i := range 3 {
		claim := fmt.Sprintf("data-web-%d", i)
		v := s.awaitVolume(claim, api.VolumeInUse, bound)
		n := s.Node(v.Node)
		zones[n.Zone] = claim
		datastore := s.datastore(v.VCenter, v.Datastore)
		if !slices.Equal(datastore.Zones, []string{n.Zone}) {
			t.Errorf("%s: node %s is in zone %s, datastore %s in %v", claim, n.Name, n.Zone, datastore.Name, datastore.Zones)
		}
		if v.VM != n.VM || !slices.Equal(v.Pods, []string{fmt.Sprintf("default/web-%d", i)}) || v.CapacityBytes != 1<<30 || v.StorageClass != "vsphere" || v.Waits != "" {
			t.Errorf("%+v on %+v", v, n)
		}
		info := s.Run("govc", "--vcenter", v.VCenter, "device.info", "-json", "-dc", n.Datacenter, "-vm.uuid", s.uuid(v.VCenter, v.VM))
		if !strings.Contains(info, v.Handle) {
			t.Errorf("%s: vm %s has no disk with VDiskId %s:\n%s", claim, v.VM, v.Handle, info)
		}
	}
	if got := slices.Sorted(maps.Keys(zones)); !slices.Equal(got, []string{"eu-all", "us-east", "us-west"}) {
		t.Errorf("zones %v\n%s", got, s.Run("get", "volumes"))
	}
	table := s.Run("get", "volumes")
	for _, want := range []string{"data-web-0", "web-2", "in-use"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %s in\n%s", want, table)
		}
	}
	explained := s.Run("explain", "volume", "data-web-0")
	for _, want := range []string{"VM with the disk:", "attachment.attached", "volume.created"} {
		if !strings.Contains(explained, want) {
			t.Errorf("no %s in\n%s", want, explained)
		}
	}
	healthOf(s, "data-web-0")
	backAgain(s)
	s.Run("kubectl", "delete", "statefulset", "web")
	s.Run("kubectl", "delete", "pvc", "--all", "--wait=false")
	s.Await("no volume is left", bound, func() bool { return len(s.volumes()) == 0 })
}

// healthOf loses the datastore of a volume, and gives it back: the syncer writes that to the claim.
func healthOf(s *sandbox, claim string) {
	s.T.Helper()
	is := func(want string) func() bool {
		return func() bool { return s.volumes()[claim].Health == want }
	}
	s.Await("the health of a new volume", 2*time.Minute, is(names.Accessible)) // the period
	v := s.volumes()[claim]
	s.Run("fault", "inject", "datastore.inaccessible", v.VCenter+"/"+v.Datastore)
	s.Await("its datastore is lost", 30*time.Second, is(names.Inaccessible))
	want := "volume " + names.Inaccessible + " since"
	if explained := s.Run("explain", "volume", claim); !strings.Contains(explained, want) {
		s.T.Errorf("no %q in\n%s", want, explained)
	}
	s.Run("fault", "heal", "--all")
	s.Await("its datastore is back", 30*time.Second, is(names.Accessible))
	want = names.HealthAnnotation + ": " + names.Accessible
	if described := s.Run("kubectl", "describe", "pvc", claim); !strings.Contains(described, want) {
		s.T.Errorf("no %q in\n%s", want, described)
	}
}

func (s *sandbox) datastore(vcenter, name string) api.Datastore {
	s.T.Helper()
	all, err := s.Client.Datastores(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	i := slices.IndexFunc(all, func(d api.Datastore) bool { return d.VCenter == vcenter && d.Name == name })
	if i < 0 {
		s.T.Fatalf("no datastore %s of %s in %+v", name, vcenter, all)
	}
	return all[i]
}

func (s *sandbox) uuid(vcenter, vm string) string {
	s.T.Helper()
	all, err := s.Client.VMs(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	for _, v := range all {
		if v.VCenter == vcenter && v.Name == vm {
			return v.UUID
		}
	}
	return ""
}

// oneClaim is a Deployment of one pod with one volume, held to us-east, where there are two workers.
const oneClaim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      nodeSelector: {topology.kubernetes.io/zone: us-east}
      terminationGracePeriodSeconds: 1
      containers:
        - {name: db, image: registry.k8s.io/pause:3.10, volumeMounts: [{name: data, mountPath: /data}]}
      volumes:
        - {name: data, persistentVolumeClaim: {claimName: data}}
`

// A VM that holds a volume loses power: Kubernetes goes its long way, and what was written is there on the other node.
func TestPowerOffWithVolume(t *testing.T) {
	t.Parallel()
	long(t)
	s := newHome(t).up("power-volume", "zones-us-eu", "--csi", "builtin")
	s.Run("kubectl", "apply", "-f", s.File("one.yaml", oneClaim))
	v := s.awaitVolume("data", api.VolumeInUse, bound)
	first := v.Node
	file := filepath.Join(s.path("data"), "hello")
	s.put(file, "written on "+first)

	s.vm("power-off", v.VM)
	// NotReady after 5 s, eviction after 30 s more; then the volume is blocked until a user confirms that the node is dead.
	v = s.awaitVolume("data", api.VolumeBlocked, 2*time.Minute)
	if v.Node != first || v.VM == "" || !strings.Contains(v.Try, "taint out-of-service "+first) {
		t.Errorf("%+v", v)
	}
	// Which Kubernetes used to call a Multi-Attach error.
	s.Await("waits for detach", reaction, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "events", "-A", "-o", "jsonpath={.items[*].message}"), "Volume is already used by pod(s)")
	})
	s.Run("taint", "out-of-service", first)
	s.Await("in use on the other node", time.Minute, func() bool {
		v := s.volumes()["data"]
		return v.State == api.VolumeInUse && v.Node != first
	})
	got, err := os.ReadFile(filepath.Join(s.path("data"), "hello"))
	if err != nil || string(got) != "written on "+first {
		t.Errorf("%q, %v", got, err)
	}
	kinds := []string{"vm.powered-off", "node.unknown", "pod.terminating", "pod.scheduled", "command.out-of-service", "attachment.detaching", "volume.detached", "attachment.attached", "pod.running"}
	s.checkOrder(s.Since(0, ""), kinds)
}

// checkOrder wants the last events of these kinds to have come in this order.
func (s *sandbox) checkOrder(events []event.Event, kinds []string) {
	s.T.Helper()
	var at uint64
	for _, kind := range kinds {
		found := false
		for _, e := range events {
			if e.Kind == kind && e.Seq > at {
				at, found = e.Seq, true
				break
			}
		}
		if !found {
			text, _ := json.MarshalIndent(events, "", " ")
			s.T.Fatalf("no %s after event %d in\n%s", kind, at, text)
		}
	}
}

// path is where the pod sees the volume of a claim.
func (s *sandbox) path(claim string) string {
	s.T.Helper()
	return strings.TrimSpace(s.Run("volume", "path", claim))
}

// put writes into a volume, with the permissions of any user.
func (s *sandbox) put(path, text string) {
	s.T.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.T.Fatal(err)
	}
}
