package controllers_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// While the cloud returns errors, nodes stay unchanged, and no line per node and turn is logged.
func TestNoLineForEachNode(t *testing.T) {
	log := captureLog(t)
	errOut := errors.New("vcenter is out of reach")
	in(t, func(t *testing.T) {
		r := start(t, settings{statusPeriod: time.Minute, monitorPeriod: 5 * time.Second}, boundNode(1), notReady(boundNode(2)), notReady(boundNode(3)))
		r.cloud.set(func(h *hooks) {
			h.metadata = func(*corev1.Node, *cloudprovider.InstanceMetadata) error { return errOut }
			h.exists = func(_ context.Context, node *corev1.Node) (bool, error) {
				return node.Name == name(3), errOn(name(2), node, errOut)
			}
			h.shutdown = func(node *corev1.Node) (bool, error) { return true, errOn(name(3), node, errOut) }
		})
		settle(time.Hour)
		counts := r.cloud.counts()
		if counts["exists "+name(2)] < 700 || counts["metadata "+name(1)] < 59 || counts["shutdown "+name(3)] < 700 {
			t.Fatalf("not asked: %v", counts)
		}
		if n := counts["shutdown "+name(2)]; n > 1 { // before the answers were changed
			t.Errorf("asked %d times whether a VM is off of which it is not known whether it exists", n)
		}
		for i := 1; i <= 3; i++ {
			if n := r.node(name(i)); n == nil || isShutdown(n) {
				t.Errorf("%s: %v", name(i), n)
			}
		}
	})
	if n := strings.Count(log(), errOut.Error()); n > 0 {
		t.Errorf("%d lines in the log:\n%s", n, log())
	}
}

func errOn(which string, node *corev1.Node, err error) error {
	if node.Name == which {
		return err
	}
	return nil
}

// captureLog returns what klog writes in the test.
func captureLog(t *testing.T) func() string {
	t.Helper()
	var mu sync.Mutex
	var b bytes.Buffer
	t.Cleanup(func() { klog.SetOutput(io.Discard) }) // as TestMain
	klog.SetOutput(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.Write(p)
	}))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return b.String()
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
