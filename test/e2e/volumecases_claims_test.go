package e2e

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// pendingExplained: the commands explain each pending claim without an internal error, and the cells of the table stay short.
func pendingExplained(s *sandbox) {
	pending := 0
	for claim, v := range s.volumes() {
		if v.State != api.VolumePending {
			continue
		}
		pending++
		if text := s.Run("explain", "volume", claim); strings.Contains(text, "invalid resource name") || !strings.Contains(text, claim) {
			s.T.Error(text)
		}
	}
	if pending < 20 {
		s.T.Errorf("%d claims are pending", pending)
	}
	for line := range strings.Lines(s.Run("get", "volumes")) {
		if len(line) > 200 {
			s.T.Errorf("%d characters: %s", len(line), line)
		}
	}
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

// mountedParts: volumes of pods with init containers and with subPath are in use.
func mountedParts(s *sandbox) {
	for _, claim := range []string{"chart-data", "chart-rest", "init", "subpath", "data-database-0", "data-database-1"} {
		if v := s.volumes()[claim]; v.State != api.VolumeInUse || v.Waits != "" {
			s.T.Errorf("%+v", v)
		}
	}
}

// pastTheScheduler: a pod with nodeName never gets a volume of a class that waits for the scheduler, and the command says so.
func pastTheScheduler(s *sandbox) {
	v := s.volumes()["past-the-scheduler"]
	if v.State != api.VolumePending || len(v.Pods) != 1 || !strings.Contains(v.Try, "nodeSelector") {
		s.T.Fatalf("%+v", v)
	}
	if is := s.state().differs(strings.Replace(v.Pods[0], "default/", "Pod ", 1), "event FailedMount: PVC is not bound"); is != "" {
		s.T.Error(is)
	}
}

// unavailable: a rollout waits for a pod whose claim has no volume.
func unavailable(s *sandbox) {
	for _, args := range [][]string{
		{"rollout", "status", "deployment/no-such-fs", "--timeout=1s"},
		{"wait", "deployment/no-such-fs", "--for=condition=Available", "--timeout=1s"},
		{"wait", "pod", "-l", "app=no-such-fs", "--for=condition=Ready", "--timeout=1s"},
	} {
		if r := s.Try(append([]string{"--name", s.Name, "kubectl"}, args...)...); r.Code == 0 {
			s.T.Errorf("kubectl %q: %s", args, r.Out)
		}
	}
}

// expansions: a claim in use grows. One that asks for more than a disk can have gets an Event and can ask for less. A claim cannot
// shrink, and not grow if its class does not say so.
func expansions(s *sandbox) {
	ask := func(claim, size string) program.Result {
		return s.Try("--name", s.Name, "kubectl", "patch", "pvc", claim, "-p", `{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`)
	}
	grown := func(bytes int64) func() bool {
		return func() bool { return s.volumes()["growing-in-use"].CapacityBytes == bytes }
	}
	ask("growing-in-use", "2Gi")
	s.Await("it has grown", time.Minute, grown(2<<30))
	s.Run("kubectl", "wait", "pvc/growing-in-use", "--for=jsonpath={.status.capacity.storage}=2Gi", "--timeout=60s")
	ask("growing-in-use", "100Ti")
	s.Await("the driver refuses it", time.Minute, func() bool {
		return strings.Contains(strings.Join(s.state().warnings("PersistentVolumeClaim growing-in-use"), "\n"), "VolumeResizeFailed: ")
	})
	if v := s.volumes()["growing-in-use"]; !strings.Contains(v.Waits, "62 TiB") {
		s.T.Errorf("%+v", v)
	}
	ask("growing-in-use", "3Gi")
	s.Await("it has grown again", time.Minute, grown(3<<30))
	for claim, size := range map[string]string{"growing-in-use": "1Gi", "fixed": "2Gi"} {
		if r := ask(claim, size); r.Code == 0 {
			s.T.Errorf("%s: %s", claim, r.Out)
		}
	}
}

// expansionTakenBack: a claim that asked for more than there is can ask for less.
func expansionTakenBack(s *sandbox) {
	ask := func(size string) {
		s.Run("kubectl", "patch", "pvc", "growing", "-p", `{"spec":{"resources":{"requests":{"storage":"`+size+`"}}}}`)
	}
	ask("5Ti")
	s.Await("the expansion fails", time.Minute, func() bool {
		return strings.Contains(strings.Join(s.state().warnings("PersistentVolumeClaim growing"), "\n"), "no space")
	})
	if v := s.volumes()["growing"]; !strings.Contains(v.Waits, "no space") {
		s.T.Errorf("%+v", v)
	}
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

// snapshotLimit: three snapshots are taken. The fourth has an error, can be deleted at once, and is not taken later.
func snapshotLimit(s *sandbox) {
	beyond := func() (all []string) {
		for _, o := range program.Kubectl[unstructured.UnstructuredList](s.Sandbox, "get", "volumesnapshots").Items {
			if is, _, _ := unstructured.NestedBool(o.Object, "status", "readyToUse"); !is && strings.HasPrefix(o.GetName(), "picture-") {
				all = append(all, o.GetName())
			}
		}
		return all
	}
	s.Await("three are taken", time.Minute, func() bool { return len(beyond()) == 1 })
	s.Await("the driver refuses the fourth", time.Minute, func() bool {
		return strings.Contains(s.Run("kubectl", "get", "events", "-o", "jsonpath={.items[*].message}"), "limit reached")
	})
	s.Run("kubectl", "delete", "volumesnapshot", beyond()[0], "--timeout=60s")
	if left := beyond(); len(left) > 0 {
		s.T.Errorf("%q are left", left)
	}
	s.Run("kubectl", "delete", "volumesnapshots", "picture-1", "picture-2", "picture-3", "picture-4", "--ignore-not-found", "--timeout=60s")
	s.Run("kubectl", "delete", "pvc", "pictures", "--timeout=60s")
	s.Await("the volume is gone", time.Minute, func() bool { _, is := s.volumes()["pictures"]; return !is })
}

// snapshotsByHandle: a VolumeSnapshotContent names a snapshot of CNS, or one that does not exist, and claims are made from it.
func snapshotsByHandle(s *sandbox) {
	content := s.Run("kubectl", "get", "volumesnapshot", "photo", "-o", "jsonpath={.status.boundVolumeSnapshotContentName}")
	handle := s.Run("kubectl", "get", "volumesnapshotcontent", content, "-o", "jsonpath={.status.snapshotHandle}")
	s.judge("later/28-restore.yaml", "SNAPSHOT", handle)
}

// longNames: the longest names that Kubernetes takes are no trouble for CNS, and go with their namespace.
func longNames(s *sandbox) {
	s.judge("later/30-long.yaml")
	namespace, claim := "n"+strings.Repeat("-long", 12), "c"+strings.Repeat("laim", 63)
	v := s.awaitVolume(namespace+"/"+claim, api.VolumeInUse, time.Minute)
	s.Await("CNS knows the claim", time.Minute, func() bool {
		record := s.record(v.VCenter, v.Handle)
		return strings.Contains(record, `"`+claim+`"`) && strings.Contains(record, `"`+namespace+`"`)
	})
	s.Run("kubectl", "delete", "namespace", namespace, "--timeout=90s")
	s.Await("the volume is gone", time.Minute, func() bool { _, is := s.volumes()[namespace+"/"+claim]; return !is })
}

// retentionPolicy: the claims of a StatefulSet over three zones go when it is scaled in and when it is deleted, and so do the disks.
func retentionPolicy(s *sandbox) {
	s.judge("later/37-retention.yaml")
	var zones []string
	left := func() (all []api.Volume) {
		for claim, v := range s.volumes() {
			if strings.HasPrefix(claim, "data-cache-") {
				all = append(all, v)
			}
		}
		return all
	}
	for _, v := range left() {
		zones = append(zones, s.Node(v.Node).Zone)
	}
	if slices.Sort(zones); !slices.Equal(zones, []string{"eu-all", "us-east", "us-west"}) {
		s.T.Errorf("the pods are in zones %q", zones)
	}
	s.Run("kubectl", "scale", "statefulset", "cache", "--replicas=1")
	s.Await("one volume is left", time.Minute, func() bool { return len(left()) == 1 })
	s.Run("kubectl", "delete", "statefulset", "cache", "--timeout=60s")
	s.Await("no volume is left", time.Minute, func() bool { return len(left()) == 0 })
}

// drained: the pods of a drained node, and a pod that is deleted by force, get their volumes on another node.
func drained(s *sandbox) {
	ready := func() { s.Run("kubectl", "rollout", "status", "statefulset/pairs", "--timeout=90s") }
	from := s.Run("kubectl", "get", "pod", "pairs-0", "-o", "jsonpath={.spec.nodeName}")
	s.Run("kubectl", "drain", from, "--pod-selector", "app=pairs", "--timeout=60s")
	ready()
	if to := s.Run("kubectl", "get", "pod", "pairs-0", "-o", "jsonpath={.spec.nodeName}"); to == from {
		s.T.Errorf("pairs-0 is on %s again", to)
	}
	s.Run("kubectl", "uncordon", from)
	s.Run("kubectl", "delete", "pod", "pairs-0", "--force", "--grace-period=0")
	ready()
	for _, claim := range []string{"data-pairs-0", "logs-pairs-0", "data-pairs-1", "logs-pairs-1"} {
		s.awaitVolume(claim, api.VolumeInUse, time.Minute)
	}
}
