package controllers

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ccmconfig "k8s.io/cloud-provider/app/config"
)

const benchNodes = 1000

func benchID(i int) string { return fmt.Sprintf("vsphere://42010203-0405-0607-0809-%012d", i) }

// benchGroup returns a group over many nodes with one controller, which sends the names of its nodes on a channel.
func benchGroup(b *testing.B) (*group, <-chan int) {
	client := fake.NewClientset()
	for i := range benchNodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}, Spec: corev1.NodeSpec{ProviderID: benchID(i)}}
		if err := client.Tracker().Add(node); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	shared := informers.NewSharedInformerFactory(client, 0)
	g := &group{
		config: (&ccmconfig.Config{SharedInformers: shared}).Complete(),
		nudges: &Resyncer{},
		opts:   Options{Debounce: time.Nanosecond, Floor: time.Nanosecond},
	}
	if err := g.start(ctx); err != nil {
		b.Fatal(err)
	}
	r := g.newRounds(ctx, &rounds{period: time.Hour})
	handed := make(chan int)
	g.nudges.goRun(func() {
		for nodes, held := r.next(ctx, nil); len(nodes) > 0; nodes, held = r.next(ctx, held) {
			select {
			case handed <- len(nodes):
			case <-ctx.Done():
			}
		}
	})
	shared.Start(ctx.Done())
	b.Cleanup(func() {
		cancel()
		g.nudges.Wait()
		shared.Shutdown()
	})
	for n := 0; n < benchNodes; { // the first round
		n += <-handed
	}
	return g, handed
}

// From a VM's change until a controller gets its node, without the debounce.
func BenchmarkNudge(b *testing.B) {
	g, handed := benchGroup(b)
	ids := make([]string, benchNodes)
	for i := range ids {
		ids[i] = benchID(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		g.dispatch(changes{ids: map[string]struct{}{ids[i%benchNodes]: {}}})
		<-handed
	}
}

// A change of every VM at once.
func BenchmarkNudgeOfAll(b *testing.B) {
	g, handed := benchGroup(b)
	ids := map[string]struct{}{}
	for i := range benchNodes {
		ids[benchID(i)] = struct{}{}
	}
	b.ReportAllocs()
	for b.Loop() {
		g.dispatch(changes{ids: ids})
		for n := 0; n < benchNodes; {
			n += <-handed
		}
	}
}

// The cost of Changed for the watch.
func BenchmarkChanged(b *testing.B) {
	n := &Resyncer{}
	ids := make([]string, benchNodes)
	for i := range ids {
		ids[i] = benchID(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n.Changed(ids[i%benchNodes])
	}
}
