package light

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/config/resources"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/informer"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// podStages are the stages of pods.
//
//go:embed stages/pods.yaml
var podStages []byte

// podRange is the range of pod addresses for nodes without a pod CIDR.
const podRange = "10.128.0.0/9"

// podPlayer simulates the pods of live nodes.
type podPlayer struct {
	informer *informer.Informer[*corev1.Pod, *corev1.PodList]
	events   chan informer.Event[*corev1.Pod]
	// back are nodes that were not alive, and need a resync of their pods.
	back workqueue.TypedRateLimitingInterface[string]
}

// playPods starts kwok's controller for pods until ctx ends.
func playPods(ctx context.Context, client kubernetes.Interface, nodes nodeCache, keeps func(node string) (ours, alive bool)) (*podPlayer, error) {
	stages, err := readStages(podStages)
	if err != nil {
		return nil, err
	}
	life, err := lifecycle.NewLifecycle(stages)
	if err != nil {
		return nil, fmt.Errorf("stages of pods: %w", err)
	}
	controller, err := controllers.NewPodController(controllers.PodControllerConfig{
		TypedClient:     client,
		NodeCacheGetter: nodes,
		CIDR:            podRange,
		NodeGetFunc: func(node string) (*controllers.NodeInfo, bool) {
			ours, _ := keeps(node)
			return &controllers.NodeInfo{}, ours
		},
		ReadOnlyFunc:         func(node string) bool { _, alive := keeps(node); return !alive },
		Lifecycle:            resources.NewStaticGetter(life),
		PlayStageParallelism: workers,
	})
	if err != nil {
		return nil, err
	}
	p := &podPlayer{
		informer: informer.NewInformer[*corev1.Pod, *corev1.PodList](client.CoreV1().Pods(corev1.NamespaceAll)),
		events:   make(chan informer.Event[*corev1.Pod], 1),
		back:     workqueue.NewTypedRateLimitingQueue(limiter()),
	}
	ctx = kwoklog.NewContext(ctx, kwoklog.NewLogger(os.Stderr, kwoklog.LevelWarn))
	if err := controller.Start(ctx, p.events); err != nil {
		return nil, err
	}
	bound := informer.Option{FieldSelector: fields.OneTermNotEqualSelector("spec.nodeName", "").String()}
	return p, p.informer.Watch(ctx, bound, p.events)
}

// returned requests a resync of a node's pods.
func (p *podPlayer) returned(node string) { p.back.Add(node) }

// work resyncs the pods of nodes that are alive again, until the queue is shut down.
func (p *podPlayer) work(ctx context.Context) {
	for {
		node, end := p.back.Get()
		if end {
			return
		}
		of := informer.Option{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String()}
		if err := p.informer.Sync(ctx, of, p.events); err != nil {
			p.back.AddRateLimited(node)
		} else {
			p.back.Forget(node)
		}
		p.back.Done(node)
	}
}

// readStages parses a file of stages.
func readStages(text []byte) ([]*internalversion.Stage, error) {
	var all []*internalversion.Stage
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var s v1alpha1.Stage
		switch err := d.Decode(&s); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("stages: %w", err)
		}
		one, err := internalversion.ConvertToInternalStage(&s)
		if err != nil {
			return nil, fmt.Errorf("stage %q: %w", s.Name, err)
		}
		all = append(all, one)
	}
}
