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
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/program"
)

// The files below testdata/volumes are of the kinds that people post about volumes. The annotation "outcome" of an object has its
// verdict:
//
//	bound SIZE           the claim has a volume of this capacity
//	running              the pod runs and is ready
//	ready N              the Deployment or StatefulSet has N ready pods; a Deployment with none is not available
//	endpoints N          the Service has N ready endpoints
//	taken                the snapshot is ready
//	not-taken TEXT       the snapshot is not ready, and the text is in its error
//	waits                the claim or pod is Pending
//	event REASON: TEXT   it is Pending, and an Event of it has this reason, and the text in its message

// outcomes are the verdicts of a file's objects, by kind and name.
func outcomes(t *testing.T, text string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
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
	slices  []discoveryv1.EndpointSlice
}

func (s *sandbox) state() clusterState {
	s.T.Helper()
	c := clusterState{objects: map[string]unstructured.Unstructured{}}
	for _, o := range program.Kubectl[unstructured.UnstructuredList](s.Sandbox, "get", "-A", "pvc,pods,deployments,statefulsets,services,volumesnapshots").Items {
		c.objects[o.GetKind()+" "+o.GetName()] = o
	}
	c.events = program.Kubectl[corev1.EventList](s.Sandbox, "get", "-A", "events").Items
	c.slices = program.Kubectl[discoveryv1.EndpointSliceList](s.Sandbox, "get", "endpointslices").Items
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
			return fmt.Sprintf("%s %s, with Events %q", phase, size, c.warnings(object))
		}
	case "running":
		if phase != "Running" || !condition(status, "Ready") {
			return fmt.Sprintf("%s, with Events %q", phase, c.warnings(object))
		}
	case "ready":
		n, _, _ := unstructured.NestedInt64(status, "readyReplicas")
		if _, observed := status["observedGeneration"]; !observed || strconv.FormatInt(n, 10) != rest {
			return fmt.Sprintf("%d ready", n)
		}
		if o.GetKind() == "Deployment" && condition(status, "Available") != (n > 0) {
			return fmt.Sprintf("%d ready, and available", n)
		}
	case "endpoints":
		if n := c.endpoints(o.GetName()); strconv.Itoa(n) != rest {
			return fmt.Sprintf("%d ready endpoints", n)
		}
	case "taken", "not-taken":
		ready, _, _ := unstructured.NestedBool(status, "readyToUse")
		message, _, _ := unstructured.NestedString(status, "error", "message")
		if ready != (verdict == "taken") || !ready && (message == "" || !strings.Contains(message, rest)) {
			return fmt.Sprintf("ready %v, with error %q", ready, message)
		}
	case "waits":
		if phase != "Pending" {
			return phase
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

func condition(status map[string]any, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == kind && m["status"] == "True"
	})
}

// endpoints counts the ready endpoints of a Service.
func (c clusterState) endpoints(service string) (n int) {
	for _, slice := range c.slices {
		for _, e := range slice.Endpoints {
			if slice.Labels[discoveryv1.LabelServiceName] == service && e.Conditions.Ready != nil && *e.Conditions.Ready {
				n++
			}
		}
	}
	return n
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

// judge applies the files of testdata/volumes that match a pattern, with the names of fill replaced by their values, and compares
// their objects with their verdicts, in a subtest for each file.
func (s *sandbox) judge(pattern string, fill ...string) {
	s.T.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "volumes", pattern))
	if err != nil || len(files) == 0 {
		s.T.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	var all []string
	wanted := map[string]map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			s.T.Fatal(err)
		}
		filled := strings.NewReplacer(fill...).Replace(string(text))
		wanted[file] = outcomes(s.T, filled)
		all = append(all, strings.TrimSpace(filled))
	}
	s.Run("kubectl", "apply", "-f", s.File("judged.yaml", strings.Join(all, "\n---\n")))
	began := time.Now()
	var state clusterState
	s.Await("the outcomes", 3*time.Minute, func() bool {
		state = s.state()
		for _, objects := range wanted {
			for object, outcome := range objects {
				if state.differs(object, outcome) != "" {
					return time.Since(began) > 90*time.Second
				}
			}
		}
		return true
	})
	for _, file := range files {
		s.T.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			for object, outcome := range wanted[file] {
				if is := state.differs(object, outcome); is != "" {
					t.Errorf("%s: %s, want %s", object, is, outcome)
				}
			}
		})
	}
}

// after is what people do with the objects of a case, once they have the outcomes.
type after struct {
	name string // of the case
	run  func(s *sandbox)
	core bool // with -short, too
}

// each runs them in this order; with -short, the core of them.
func (s *sandbox) each(all []after) {
	s.T.Helper()
	for _, a := range all {
		if testing.Short() && !a.core {
			continue
		}
		s.T.Run(a.name, func(t *testing.T) { a.run((&home{s.In(t)}).attach(s.Name)) })
	}
}

// Each object of a file gets as far as its annotation says, and an Event has the reason if that is not far. Then what people do with
// such objects afterwards.
func TestVolumeCases(t *testing.T) {
	t.Parallel()
	s := newHome(t).up("volumecases", "zones-us-eu", "--csi", "builtin")
	ds := s.datastore("us", "dceast-ds")
	disk := func(vcenter, datacenter, datastore, size, name string) string {
		return strings.TrimSpace(s.Run("govc", "--vcenter", vcenter, "disk.create", "-dc", datacenter, "-ds", datastore, "-size", size, name))
	}
	shop := disk("us", "dceast", ds.Name, "2G", "shop-disk")
	fill := []string{"DATASTORE_URL", ds.URL, "DATASTORE_UPPER", strings.ToUpper(ds.URL), "DATASTORE_PATH", ds.Path, "DATASTORE", ds.Name, "FCD-SHOP", shop}
	for _, name := range []string{"FCD-READ-ONLY", "FCD-MANY-READERS", "FCD-OTHER-SIZE"} {
		fill = append(fill, name, disk("us", "dceast", ds.Name, "1G", name))
	}
	fill = append(fill, "FCD-UPPER", strings.ToUpper(disk("us", "dceast", ds.Name, "1G", "upper")))
	fill = append(fill, "FCD-ELSEWHERE", disk("eu", "dceu", "dceu-ds", "1G", "elsewhere"))
	t.Run("posted", func(t *testing.T) { (&home{s.In(t)}).attach(s.Name).judge("posted/*.yaml", fill...) })
	t.Run("afterwards", func(t *testing.T) {
		(&home{s.In(t)}).attach(s.Name).each([]after{
			{name: "01-pending", run: pendingExplained},
			{name: "05-rawblock", run: rawBlock, core: true},
			{name: "07-rwop", run: func(s *sandbox) { s.judge("later/07-rwop.yaml") }},
			{name: "12-policy-none", run: func(s *sandbox) { s.policyMadeLater(ds.Path) }},
			{name: "13-static", run: func(s *sandbox) { s.registered(shop) }, core: true},
			{name: "14-metadata", run: labeledLater, core: true},
			{name: "15-order", run: deletedFromTheEnd},
			{name: "17-reimport", run: boundByHand},
			{name: "18-same-handle", run: twoNames},
			{name: "19-renamed", run: boundAgain},
			{name: "23-moved", run: diskOnAnotherVM},
			{name: "24-drain", run: drained},
			{name: "25-enableuuid", run: hiddenUUIDs},
			{name: "26-expand", run: expansions},
			{name: "26c", run: expansionTakenBack, core: true},
			{name: "27b-snaps", run: func(s *sandbox) { s.judge("later/27b-snaps.yaml") }},
			{name: "28-restore", run: snapshotsByHandle},
			{name: "29-snapshot-limit", run: snapshotLimit, core: true},
			{name: "30-long", run: longNames},
			{name: "31-helmlike", run: mountedParts},
			{name: "attachment-deleted", run: attachedAgain},
			{name: "37-retention", run: retentionPolicy},
			{name: "40-ready-unmounted", run: unavailable},
			{name: "l11-nodename", run: pastTheScheduler},
		})
	})
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
