package deploy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func started(p *corev1.Pod, ago time.Duration) *corev1.Pod {
	at := metav1.NewTime(time.Now().Add(-ago))
	p.Status.StartTime = &at
	return p
}

func crashing(restarts int32) corev1.ContainerStatus {
	s := waiting("CrashLoopBackOff", "localhost/x:1")
	s.RestartCount = restarts
	s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3}
	return s
}

func unscheduled(p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeName, p.Status.ContainerStatuses = "", nil
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/1 nodes are available: 1 node(s) had untolerated taint(s) {node.cloudprovider.kubernetes.io/uninitialized: true}. no new claims to deallocate, preemption: 0/1 nodes are available",
	}}
	return p
}

// Why it is not ready is said in words that help, and waiting ends at once where it would not.
func TestWaitReasons(t *testing.T) {
	for _, tc := range []struct {
		name  string
		there []runtime.Object
		want  []string
		final bool
	}{
		{
			"image of ours",
			[]runtime.Object{podOn("p", "x", "cp", waiting("ImagePullBackOff", "localhost/ccm:1"))},
			[]string{"pod kube-system/p on node cp", "localhost/ccm:1", "kind load image-archive"},
			true,
		},
		{
			"image of a registry, first failure",
			[]runtime.Object{started(podOn("p", "x", "cp", waiting("ErrImagePull", "r.example.net/ccm:1")), time.Second)},
			[]string{"r.example.net/ccm:1", "because"},
			false,
		},
		{
			"image of a registry, for long",
			[]runtime.Object{started(podOn("p", "x", "cp", waiting("ImagePullBackOff", "r.example.net/ccm:1")), time.Hour)},
			[]string{"r.example.net/ccm:1", "because"},
			true,
		},
		{"no name of an image", []runtime.Object{podOn("p", "x", "cp", waiting("InvalidImageName", "A B"))}, []string{`"A B"`}, true},
		{"crash", []runtime.Object{podOn("p", "x", "cp", crashing(1))}, []string{"2 times so far, with exit code 3", "fake logs"}, false},
		{"crashes", []runtime.Object{podOn("p", "x", "cp", crashing(4))}, []string{"5 times so far, with exit code 3", "fake logs"}, true},
		{
			"no node",
			[]runtime.Object{unscheduled(podOn("p", "x", "", corev1.ContainerStatus{}))},
			[]string{"no node matches", "uninitialized", "has found their VMs"},
			false,
		},
		{"not ready", []runtime.Object{podOn("p", "x", "cp", running("1", false))}, []string{"it runs but is not ready"}, false},
		{"no configuration", []runtime.Object{podOn("p", "x", "cp", waiting("CreateContainerConfigError", "i"))}, []string{"CreateContainerConfigError because"}, false},
		{"a volume", []runtime.Object{podOn("p", "x", "cp", waiting("ContainerCreating", "i")), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "kube-system"}, Type: "Warning", Reason: "FailedMount", Message: "no ConfigMap",
			InvolvedObject: corev1.ObjectReference{UID: "uid-p"},
		}}, []string{"it is being created"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, Options{}, append(tc.there, daemonSetOf("x", partCCM, 1, 0))...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var said []string
			err := r.Wait(ctx, func(text string) {
				said = append(said, text)
				cancel() // it waits, and would for long
			})
			failed := (*WaitError)(nil)
			if !errors.As(err, &failed) {
				t.Fatalf("error is %v", err)
			}
			if final := failed.Err == nil; final != tc.final || final == (len(said) > 0) {
				t.Errorf("final: %v, said %q", final, said)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error is %v, want %q", err, want)
				}
			}
		})
	}
}

// No pod at all has reasons, too.
func TestWaitWithoutPods(t *testing.T) {
	set := daemonSetOf("x", partCCM, 0, 0)
	r := newRig(t, Options{}, set)
	if err := r.Wait(t.Context(), nil); err == nil || !strings.Contains(err.Error(), controlPlane) {
		t.Errorf("error is %v", err)
	}
	r = newRig(t, Options{})
	if err := r.Wait(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "nothing was deployed") {
		t.Errorf("error is %v", err)
	}
}

// It returns when the last pod is ready, and not before what was asked for last is what runs.
func TestWaitEnds(t *testing.T) {
	set := daemonSetOf("x", partCCM, 1, 0)
	pod := podOn("p", "x", "cp", running("1", false))
	r := newRig(t, Options{}, set, pod)
	waited := make(chan error, 1)
	heard := make(chan string, 10)
	go func() { waited <- r.Wait(t.Context(), func(text string) { heard <- text }) }()
	<-heard
	set = set.DeepCopy()
	set.Status.NumberReady = 1
	if _, err := r.client.AppsV1().DaemonSets("kube-system").Update(t.Context(), set, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
}

// What the watches tell is older than what was asked for: a rollout that has not begun is no success.
func TestWaitForWhatWasAsked(t *testing.T) {
	set := daemonSetOf("x", partCCM, 1, 1)
	set.Generation, set.Status.ObservedGeneration = 3, 3
	r := newRig(t, Options{}, set)
	if err := r.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	next := bare("apps/v1", "DaemonSet", "kube-system", "x")
	next.SetGeneration(4)
	r.tracker.ask(next)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := r.Wait(ctx, func(string) { cancel() })
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "has not observed it yet") {
		t.Errorf("error is %v", err)
	}
	if err := r.client.AppsV1().DaemonSets("kube-system").Delete(t.Context(), "x", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A pod that is about to be replaced may fail in any way.
func TestWaitForgivesOldPods(t *testing.T) {
	set := daemonSetOf("x", partCCM, 1, 0)
	set.Status.UpdatedNumberScheduled = 0
	r := newRig(t, Options{}, set, podOn("p", "x", "cp", crashing(40)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.Wait(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
