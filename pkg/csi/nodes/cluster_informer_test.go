package nodes_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodes"
)

func TestInformer(t *testing.T) {
	one := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"a": "b"}}}
	one.Spec.ProviderID = "vsphere://" + uuidA1
	one.Status.NodeInfo.SystemUUID = uuidA2
	client := fake.NewClientset(one)
	i, err := nodes.NewInformer(client)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := i.Nodes(); known {
		t.Error("nodes are known before anybody asked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = i.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	waitCtx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if err := i.WaitSynced(waitCtx); err != nil {
		t.Fatal(err)
	}
	all, known := i.Nodes()
	want := []nodes.KubeNode{{Name: "one", ProviderID: "vsphere://" + uuidA1, SystemUUID: uuidA2}}
	if diff := cmp.Diff(want, all); diff != "" || !known {
		t.Error(known, diff)
	}
	if labels, ok := i.Labels("one"); !ok || labels["a"] != "b" {
		t.Errorf("labels %v, %v", labels, ok)
	}
	if _, ok := i.Labels("two"); ok {
		t.Error("labels of nobody")
	}

	notified := make(chan string, 10)
	defer i.ListenNode(func(name string) { notified <- name })()
	wait := func(what string) {
		t.Helper()
		select {
		case <-notified:
		case <-time.After(10 * time.Second):
			t.Fatalf("not told of %s", what)
		}
	}
	beat := one.DeepCopy()
	beat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, beat, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	labeled := beat.DeepCopy()
	labeled.Labels["a"] = "c"
	if _, err := client.CoreV1().Nodes().Update(ctx, labeled, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	wait("a label")
	if len(notified) > 0 {
		t.Error("told of a heartbeat")
	}
	if err := client.CoreV1().Nodes().Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait("a deletion")
	eventually(t, "no nodes", func() error {
		if all, _ := i.Nodes(); len(all) > 0 {
			return fmt.Errorf("got %v", all)
		}
		return nil
	})
}
