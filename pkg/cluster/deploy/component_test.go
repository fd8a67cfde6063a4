package deploy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func componentNames(all []Change) []string {
	var out []string
	for _, c := range all {
		out = append(out, c.Component)
	}
	return out
}

// controller is the CSI driver's, with a pod.
func controller() (*appsv1.Deployment, *corev1.Pod) {
	labels := map[string]string{"of": "csi"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "vsphere-csi-controller", Namespace: "kube-system", Labels: map[string]string{ManagedByLabel: ManagedBy, partLabel: partCSI}},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "csi-1", Namespace: "kube-system", Labels: labels},
		Spec:       corev1.PodSpec{NodeName: "cp", Containers: []corev1.Container{{Name: "vsphere-csi-controller"}, {Name: "csi-attacher"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "vsphere-csi-controller", Ready: true, ContainerID: "containerd://a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "csi-attacher", RestartCount: 2, ContainerID: "containerd://b", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error"}}},
		}},
	}
	return deployment, pod
}

func TestComponents(t *testing.T) {
	deployment, pod := controller()
	r := newRig(t, Options{},
		daemonSetOf(ccmName, partCCM, 2, 2), daemonSetOf(ccmName+"-2", partCCM, 1, 1), daemonSetOf("vsphere-csi-node", partCSI, 1, 1),
		podOn("one", ccmName, "cp-a", running("1", true)), podOn("two", ccmName, "cp-b", running("2", true)),
		podOn("three", ccmName+"-2", "cp-a", running("3", true)), podOn("node", "vsphere-csi-node", "cp-a", running("4", true)),
		podOn("theirs", "another", "cp-a", running("5", true)), deployment, pod)
	all, err := r.Components(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ccm", "ccm-2", "ccm-3", "csi-attacher", "csi-controller"}, componentNames(all)); diff != "" {
		t.Fatal(diff)
	}
	if c := all[3]; c.State != Exited || c.ExitCode != 137 || c.Restarts != 2 || c.Node != "cp" || c.ContainerID != "b" || c.Pod != "csi-1" {
		t.Errorf("%+v", c)
	}
	if c := all[2]; c.Pod != "three" {
		t.Errorf("ccm-3 is %+v", c)
	}
}

// A pod that replaces another is the same component; one that is gone is reported.
func TestWatch(t *testing.T) {
	old := podOn("old", ccmName, "cp", running("1", true))
	r := newRig(t, Options{}, daemonSetOf(ccmName, partCCM, 1, 1), old)
	changes := make(chan Change, 100)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() { watched <- r.Watch(ctx, func(c Change) { changes <- c }) }()
	if c := <-changes; c.Component != "ccm" || c.Pod != "old" || c.State != Running || !c.Ready {
		t.Errorf("%+v", c)
	}
	pods := r.client.CoreV1().Pods("kube-system")
	now := metav1.Now()
	leaving := old.DeepCopy()
	leaving.DeletionTimestamp = &now
	leaving.Finalizers = []string{"a/b"}
	if _, err := pods.Update(t.Context(), leaving, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := pods.Create(t.Context(), podOn("new", ccmName, "cp", running("2", true)), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if c := <-changes; c.Component != "ccm" || c.Pod != "new" {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"old", "new"} {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for c := range changes {
		if c.State == Gone {
			break
		}
	}
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
}

// called is what is done in nodes.
type called struct {
	mu   sync.Mutex
	cmds []string
	err  error
}

func (c *called) exec(_ context.Context, node string, cmd ...string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cmds = append(c.cmds, node+": "+strings.Join(cmd, " "))
	return nil, c.err
}

func TestFaults(t *testing.T) {
	deployment, pod := controller()
	in := &called{}
	r := newRig(t, Options{Exec: in.exec}, deployment, pod, daemonSetOf(ccmName, partCCM, 1, 1), podOn("p", ccmName, "cp", running("c", true)))
	ctx := t.Context()
	if err := errors.Join(r.Kill(ctx, "ccm"), r.Pause(ctx, "ccm"), r.Resume(ctx, "ccm"), r.Restart(ctx, "csi-controller"), r.Restart(ctx, "ccm")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"cp: ctr --namespace k8s.io task kill -s KILL c", "cp: ctr --namespace k8s.io task pause c",
		"cp: ctr --namespace k8s.io task resume c", "cp: ctr --namespace k8s.io task kill -s TERM a",
	}
	if diff := cmp.Diff(want, in.cmds); diff != "" {
		t.Error(diff)
	}
	if _, err := r.client.CoreV1().Pods("kube-system").Get(ctx, "p", metav1.GetOptions{}); err == nil {
		t.Error("the pod was not replaced")
	}
	if err := r.Kill(ctx, "csi-attacher"); err == nil || !strings.Contains(err.Error(), "does not run: it is exited") {
		t.Errorf("kill of what has exited: %v", err)
	}
	if err := r.Kill(ctx, "csi-resizer"); err == nil || !strings.Contains(err.Error(), "csi-attacher, csi-controller") {
		t.Errorf("kill of what is not there: %v", err)
	}
	in.err = errors.New("no such container")
	if err := r.Pause(ctx, "csi-controller"); !errors.Is(err, in.err) {
		t.Errorf("pause: %v", err)
	}
}

func TestFaultsWithoutAWayIn(t *testing.T) {
	deployment, pod := controller()
	r := newRig(t, Options{}, deployment, pod)
	ctx := t.Context()
	for _, f := range []func(context.Context, string) error{r.Pause, r.Resume} {
		if err := f(ctx, "csi-controller"); !errors.Is(err, ErrNoExec) {
			t.Errorf("error is %v", err)
		}
	}
	if err := r.Kill(ctx, "csi-controller"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client.CoreV1().Pods("kube-system").Get(ctx, "csi-1", metav1.GetOptions{}); err == nil {
		t.Error("the pod is still there")
	}
}

// lines is a writer that sends each write.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Each process is followed once, from its beginning.
func TestLogs(t *testing.T) {
	pod := podOn("p", ccmName, "cp", running("1", true))
	r := newRig(t, Options{}, daemonSetOf(ccmName, partCCM, 1, 1), pod)
	ctx, cancel := context.WithCancel(t.Context())
	said := make(lines, 10)
	followed := make(chan error, 1)
	go func() { followed <- r.Logs(ctx, "ccm", said) }()
	if text := <-said; text != "fake logs" { // what client-go's fake has to say
		t.Errorf("%q", text)
	}
	next := pod.DeepCopy()
	next.Status.ContainerStatuses[0] = running("2", true)
	next.Status.ContainerStatuses[0].Name = "main"
	if _, err := r.client.CoreV1().Pods("kube-system").UpdateStatus(t.Context(), next, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := <-said; text != "fake logs" {
		t.Errorf("%q", text)
	}
	cancel()
	if err := <-followed; err != nil {
		t.Error(err)
	}
}

// After a connection that broke, nothing is written twice and nothing is left out, though the kubelet counts in seconds.
func TestFollowerContinues(t *testing.T) {
	const first = "2026-01-01T00:00:00.1Z a\n2026-01-01T00:00:00.2Z b\n2026-01-01T00:00:00.2Z c\n"
	const again = first + "2026-01-01T00:00:00.2Z d\n2026-01-01T00:00:00.3Z e\nno time\n"
	f, out := follower{}, &bytes.Buffer{}
	for _, text := range []string{first, again, again} {
		skip := f.count
		for line := range strings.Lines(text) {
			if err := f.write([]byte(line), out, &skip); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.ReplaceAll(out.String(), "no time\n", ""); got != "a\nb\nc\nd\ne\n" {
		t.Errorf("%q", got)
	}
	if err := f.write([]byte("2026-01-02T00:00:00Z x\n"), broken{}, new(int)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error is %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestMetricsPort(t *testing.T) {
	for _, tc := range []struct {
		args []string
		ccm  bool
		want metricsPort
		err  string
	}{
		{[]string{"--health-address=127.0.0.1:10267", "--secure-port=0"}, true, metricsPort{port: 10267}, ""},
		{[]string{"--metrics-address", "127.0.0.1:10268"}, false, metricsPort{port: 10268}, ""},
		{[]string{"--cloud-provider=vsphere"}, true, metricsPort{upstreamPort, true}, ""},
		{[]string{"--secure-port=9"}, true, metricsPort{9, true}, ""},
		{[]string{"--secure-port=0"}, true, metricsPort{}, "no metrics"},
		{nil, false, metricsPort{}, "no metrics"},
	} {
		got, err := metricsOf(corev1.Container{Args: tc.args}, tc.ccm)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%q: %v, %v", tc.args, got, err)
		}
	}
}

func TestFlags(t *testing.T) {
	args := []string{"csi-x", "--a=1", "--ab=2", "--c", "3"}
	if got, want := withFlags(args, "--a=9", "--d=4"), []string{"csi-x", "--a=9", "--ab=2", "--c", "3", "--d=4"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got, want := withoutFlags(args, "--a"), []string{"csi-x", "--ab=2", "--c", "3"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if flagValue(args, "--a") != "1" || flagValue(args, "--c") != "3" || flagValue(args, "--z") != "" || flagValue([]string{"--c"}, "--c") != "" {
		t.Error("values")
	}
}
