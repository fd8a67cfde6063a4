package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// outcomes are the verdicts of a file's objects, by kind and name.
func outcomes(t *testing.T, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		if o.Object == nil {
			continue
		}
		if outcome := o.GetAnnotations()["outcome"]; outcome != "" {
			all[o.GetKind()+" "+o.GetName()] = outcome
		}
	}
	return all
}

// clusterState is what verdicts are about.
type clusterState struct {
	objects map[string]unstructured.Unstructured
	events  []corev1.Event
}

func (s *sandbox) state() clusterState {
	s.T.Helper()
	c := clusterState{objects: map[string]unstructured.Unstructured{}}
	for _, o := range program.Kubectl[unstructured.UnstructuredList](s.Sandbox, "get", "pvc,pods,deployments,statefulsets,volumesnapshots").Items {
		c.objects[o.GetKind()+" "+o.GetName()] = o
	}
	c.events = program.Kubectl[corev1.EventList](s.Sandbox, "get", "events").Items
	return c
}

// differs returns how an object differs from its verdict, "" if it does not.
func (c clusterState) differs(object, outcome string) string {
	o, ok := c.objects[object]
	if !ok {
		return "does not exist"
	}
	verdict, rest, _ := strings.Cut(outcome, " ")
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	phase, _ := status["phase"].(string)
	switch verdict {
	case "bound":
		size, _, _ := unstructured.NestedString(status, "capacity", "storage")
		is, _ := resource.ParseQuantity(cmp.Or(size, "0"))
		if want := resource.MustParse(rest); phase != "Bound" || is.Cmp(want) != 0 {
			return phase + " " + size
		}
	case "running":
		if phase != "Running" || !c.condition(status, "Ready") {
			return phase
		}
	case "ready":
		n, _, _ := unstructured.NestedInt64(status, "readyReplicas")
		if _, observed := status["observedGeneration"]; !observed || strconv.FormatInt(n, 10) != rest {
			return fmt.Sprintf("%d ready", n)
		}
	case "event":
		reason, text, _ := strings.Cut(rest, ": ")
		found := slices.ContainsFunc(c.events, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind+" "+e.InvolvedObject.Name == object && e.Reason == reason && strings.Contains(e.Message, text)
		})
		if !found || phase != "Pending" {
			return fmt.Sprintf("%s, with Events %q", phase, c.warnings(object))
		}
	default:
		return "there is no outcome " + verdict
	}
	return ""
}

func (c clusterState) condition(status map[string]any, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == kind && m["status"] == "True"
	})
}

// warnings lists the messages of an object's Events.
func (c clusterState) warnings(object string) (all []string) {
	for _, e := range c.events {
		if e.InvolvedObject.Kind+" "+e.InvolvedObject.Name == object {
			all = append(all, e.Reason+": "+e.Message)
		}
	}
	return all
}

// judge applies files of testdata/volumes, filled in, and compares their objects with their verdicts. It returns the text.
func (s *sandbox) judge(fill *strings.Replacer, files ...string) (all string) {
	s.T.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", "volumes", file))
		if err != nil {
			s.T.Fatal(err)
		}
		filled := fill.Replace(string(text))
		s.Run("kubectl", "apply", "-f", s.File(file, filled))
		all += filled + "\n---\n"
	}
	wanted, began := outcomes(s.T, all), time.Now()
	var state clusterState
	s.Await("the outcomes", 3*time.Minute, func() bool {
		state = s.state()
		for object, outcome := range wanted {
			if state.differs(object, outcome) != "" {
				return time.Since(began) > 90*time.Second
			}
		}
		return true
	})
	for object, outcome := range wanted {
		s.T.Run(object, func(t *testing.T) {
			if is := state.differs(object, outcome); is != "" {
				t.Errorf("%s, want %s", is, outcome)
			}
		})
	}
	return all
}

// Files about volumes as people post them: each object gets as far as its annotation says, and an Event has the reason if that is
// not far. Then what people do with such objects afterwards.
func TestVolumeCases(t *testing.T) {
	t.Parallel()
	long(t)
	s := newHome(t).up("volumecases", "zones-us-eu", "--csi", "builtin")
	ds := s.datastore("us", "dceast-ds")
	disk := func(vcenter, datacenter, datastore, size, name string) string {
		return strings.TrimSpace(s.Run("govc", "--vcenter", vcenter, "disk.create", "-dc", datacenter, "-ds", datastore, "-size", size, name))
	}
	shop := disk("us", "dceast", ds.Name, "2G", "shop-disk")
	fill := []string{"DATASTORE_URL", ds.URL, "DATASTORE", ds.Name, "FCD-SHOP", shop}
	for _, name := range []string{"FCD-READ-ONLY", "FCD-MANY-READERS", "FCD-OTHER-SIZE"} {
		fill = append(fill, name, disk("us", "dceast", ds.Name, "1G", name))
	}
	fill = append(fill, "FCD-UPPER", strings.ToUpper(disk("us", "dceast", ds.Name, "1G", "upper")))
	fill = append(fill, "FCD-ELSEWHERE", disk("eu", "dceu", "dceu-ds", "1G", "elsewhere"))
	filled := s.judge(strings.NewReplacer(fill...), "cases.yaml", "handles.yaml")
	for _, after := range []struct {
		name string
		run  func(s *sandbox)
	}{
		{"Registered", func(s *sandbox) { s.registered(shop) }},
		{"RawBlock", rawBlock},
		{"PastTheScheduler", pastTheScheduler},
		{"SnapshotLimit", snapshotLimit},
		{"ExpansionTakenBack", expansionTakenBack},
		{"PolicyMadeLater", func(s *sandbox) { s.policyMadeLater(ds.Path) }},
		{"DiskOnAnotherVM", func(s *sandbox) { s.diskOnAnotherVM(docOf(t, filled, "kind: Pod\nmetadata: {name: held,")) }},
		{"HiddenUUIDs", hiddenUUIDs},
		{"BoundAgain", boundAgain},
		{"TwoNames", twoNames},
		{"DeletedFromTheEnd", deletedFromTheEnd},
		{"LongNames", longNames},
		{"SnapshotsByHandle", snapshotsByHandle},
		{"RetentionPolicy", retentionPolicy},
	} {
		t.Run(after.name, func(t *testing.T) { after.run((&home{s.In(t)}).attach(s.Name)) })
	}
}

// registered: a disk that a PersistentVolume names is a volume, and CNS knows its claim with its labels, and its pod.
func (s *sandbox) registered(disk string) {
	s.Await("CNS knows the pod", time.Minute, func() bool {
		record := s.record("us", disk)
		return strings.Contains(record, `"POD"`) && strings.Contains(record, `"shop"`)
	})
}

// record is what CNS has recorded for a volume, as JSON.
func (s *sandbox) record(vcenter, id string) string {
	s.T.Helper()
	return s.Run("govc", "--vcenter", vcenter, "volume.ls", "-json", id)
}

// rawBlock: the commands show why a hollow node refuses a raw block volume.
func rawBlock(s *sandbox) {
	if v := s.volumes()["raw"]; !strings.Contains(v.Waits, "a hollow kubelet cannot map devices to pods") {
		s.T.Errorf("%+v", v)
	}
	if text := s.Run("explain", "volume", "raw"); !strings.Contains(text, "a hollow kubelet") {
		s.T.Error(text)
	}
}

// pastTheScheduler: a pod with nodeName never gets a volume of a class that waits for the scheduler, and the command says so.
func pastTheScheduler(s *sandbox) {
	if v := s.volumes()["past-the-scheduler"]; v.State != api.VolumePending || !strings.Contains(v.Try, "nodeSelector") {
		s.T.Errorf("%+v", v)
	}
}

// snapshotLimit: a VolumeSnapshot beyond the limit is not taken, can be deleted at once, and is not taken later.
func snapshotLimit(s *sandbox) {
	var text strings.Builder
	for i := range 4 {
		fmt.Fprintf(&text, "apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: picture-%d}\n"+
			"spec: {volumeSnapshotClassName: vsphere, source: {persistentVolumeClaimName: pictures}}\n---\n", i)
	}
	s.Run("kubectl", "apply", "-f", s.File("snapshots.yaml", text.String()))
	taken := func() (ready, not []string) {
		for _, o := range program.Kubectl[unstructured.UnstructuredList](s.Sandbox, "get", "volumesnapshots").Items {
			if is, _, _ := unstructured.NestedBool(o.Object, "status", "readyToUse"); is {
				ready = append(ready, o.GetName())
			} else {
				not = append(not, o.GetName())
			}
		}
		return ready, not
	}
	var beyond []string
	s.Await("three are taken", time.Minute, func() bool {
		var ready []string
		ready, beyond = taken()
		return len(ready) == 3
	})
	s.Await("the driver refuses the fourth", time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "events", "-o", "jsonpath={.items[*].message}"), "limit reached")
	})
	s.Run("kubectl", "delete", "volumesnapshot", beyond[0], "--timeout=60s")
	s.Run("kubectl", "delete", "volumesnapshots", "--all", "--timeout=60s")
	s.Run("kubectl", "delete", "pvc", "pictures", "--timeout=60s")
	s.Await("the volume is gone", time.Minute, func() bool { _, is := s.volumes()["pictures"]; return !is })
}

// expansionTakenBack: a claim that asked for more than there is can ask for less.
func expansionTakenBack(s *sandbox) {
	ask := func(size string) {
		s.Run("kubectl", "patch", "pvc", "growing", "-p", `{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`)
	}
	ask("5Ti")
	s.Await("the expansion fails", time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "events", "--field-selector", "reason=VolumeResizeFailed", "-o", "jsonpath={.items[*].message}"), "no space")
	})
	ask("3Gi")
	s.Await("the disk has 3 GiB", time.Minute, func() bool { return s.volumes()["growing"].CapacityBytes == 3<<30 })
}

// policyMadeLater: a claim whose storage policy does not exist yet is retried soon, at any speed.
func (s *sandbox) policyMadeLater(datastore string) {
	for _, args := range [][]string{
		{"tags.category.create", "-t", "Datastore", "grade"},
		{"tags.create", "-c", "grade", "silver"},
		{"tags.attach", "-c", "grade", "silver", datastore},
		{"storage.policy.create", "-category", "grade", "-tag", "silver", "Silver"},
	} {
		s.Run(append([]string{"govc", "--vcenter", "us"}, args...)...)
	}
	s.Await("the claim is bound", 2*time.Minute, func() bool { return s.volumes()["policy-later"].State == api.VolumeDetached })
}

// diskOnAnotherVM: a disk that another client attached blocks its pod, and the advice helps.
func (s *sandbox) diskOnAnotherVM(pod string) {
	s.Run("kubectl", "delete", "pod", "held", "--timeout=60s")
	v := s.awaitVolume("held", api.VolumeDetached, time.Minute)
	s.Run("govc", "--vcenter", "eu", "disk.attach", "-dc", "dceu", "-ds", v.Datastore, "-vm", "worker-eu-2", v.Handle)
	s.Run("kubectl", "apply", "-f", s.File("held.yaml", pod))
	if v = s.awaitVolume("held", api.VolumeBlocked, time.Minute); v.Try != "vsphere-sandbox volume detach default/held" {
		s.T.Errorf("%+v", v)
	}
	s.Run("volume", "detach", "default/held")
	s.awaitVolume("held", api.VolumeInUse, 2*time.Minute)
}

// docOf returns the document of a file that has a text.
func docOf(t *testing.T, file, text string) string {
	t.Helper()
	all := strings.Split(file, "\n---\n")
	i := slices.IndexFunc(all, func(doc string) bool { return strings.Contains(doc, text) })
	if i < 0 {
		t.Fatalf("there is no %q", text)
	}
	return all[i]
}

// hiddenUUIDs: the guest of a VM with disk.EnableUUID FALSE does not find the disk of a volume, and an Event says so. With TRUE it
// finds it.
func hiddenUUIDs(s *sandbox) {
	s.Run("govc", "--vcenter", "us", "vm.change", "-dc", "dcwest", "-e", "disk.enableuuid=FALSE", "-vm", "worker-west-1")
	s.Run("kubectl", "apply", "-f", s.File("hidden.yaml", `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hidden}
spec: {accessModes: [ReadWriteOnce], storageClassName: vsphere, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: hidden}
spec:
  nodeSelector: {kubernetes.io/hostname: worker-west-1}
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: "registry.k8s.io/pause:3.10", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: hidden}}]
`))
	s.Await("the node service does not find it", time.Minute, func() bool {
		return strings.Contains(s.volumes()["hidden"].Waits, "not attached to node")
	})
	s.Run("govc", "--vcenter", "us", "vm.change", "-dc", "dcwest", "-e", "disk.enableuuid=TRUE", "-vm", "worker-west-1")
	s.awaitVolume("hidden", api.VolumeInUse, time.Minute)
}

// boundAgain: a retained volume that another PersistentVolume names is not orphaned, and CNS knows it by that.
func boundAgain(s *sandbox) {
	v := s.volumes()["first-name"]
	s.Run("kubectl", "delete", "pvc", "first-name", "--timeout=60s")
	s.Run("kubectl", "apply", "-f", s.File("again.yaml", `
apiVersion: v1
kind: PersistentVolume
metadata: {name: second-name}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  storageClassName: kept
  csi: {driver: csi.vsphere.vmware.com, fsType: ext4, volumeHandle: `+v.Handle+`}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: second-name}
spec: {accessModes: [ReadWriteOnce], storageClassName: kept, volumeName: second-name, resources: {requests: {storage: 1Gi}}}
`))
	s.Run("kubectl", "delete", "pv", v.Name, "--timeout=60s")
	s.Await("CNS knows the second name alone", time.Minute, func() bool {
		record := s.record(v.VCenter, v.Handle)
		return strings.Contains(record, `"second-name"`) && !strings.Contains(record, `"first-name"`)
	})
	all, err := s.Client.Volumes(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(other api.Volume) bool { return other.Handle != v.Handle && other.Name != v.Handle })
	if len(all) != 1 || all[0].Claim != "default/second-name" {
		s.T.Errorf("%+v", all)
	}
}

// A file volume is written on one node and read on another. The cluster has a zone without a region, where volumes are made as
// without zones.
func TestFileVolume(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.up("shares", h.shipped("test/e2e/testdata/volumes/shared-topology.yaml"), "--csi", "builtin")
	s.Run("kubectl", "apply", "-f", s.shipped("test/e2e/testdata/volumes/shared.yaml"))
	s.Run("kubectl", "wait", "pod/writer", "pod/reader", "--for=condition=Ready", "--timeout=90s")
	s.Await("the reader has what the writer wrote", time.Minute, func() bool {
		r := h.Try("--name", s.Name, "kubectl", "exec", "reader", "--", "cat", "/pages/index")
		return r.Out == "written on w-1\n"
	})
	v := s.volumes()["pages"]
	if v.State != api.VolumeInUse || v.Node != "w-1,w-2" || v.VM != "" || v.Waits != "" {
		t.Errorf("%+v", v)
	}
	if text := s.Run("explain", "volume", "pages"); !strings.Contains(text, "it is a share") {
		t.Error(text)
	}
	record := s.record("vc", v.Handle)
	for _, want := range []string{`"FILE"`, "/vsanfs/", `"pages"`} {
		if !strings.Contains(record, want) {
			t.Errorf("no %s in %s", want, record)
		}
	}
	s.awaitVolume("disk", api.VolumeDetached, time.Minute)
	s.Run("kubectl", "delete", "-f", s.shipped("test/e2e/testdata/volumes/shared.yaml"), "--timeout=90s")
	s.Await("no volume is left", time.Minute, func() bool { return len(s.volumes()) == 0 })
}
