package nodetopology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Reasons of events.
const (
	ReasonSucceeded    = "TopologyRetrievalSucceeded" // upstream's
	ReasonFailed       = "TopologyRetrievalFailed"    // upstream's
	ReasonChanged      = "TopologyChanged"
	ReasonLabelChanged = "TopologyLabelChanged"
)

// errLater says that an answer is to be looked for again, and that this is nothing to be told.
var errLater = errors.New("no answer yet")

// sync makes one object, and the labels of its node, true. It is looked at again after a while when that is not zero, and
// with back-off after an error.
func (c *Controller) sync(ctx context.Context, name string) (again time.Duration, err error) {
	o, err := c.get(name)
	if err != nil {
		return 0, err
	}
	if o == nil {
		c.found(name)
		return 0, nil
	}
	if o.Spec.NodeUUID == "" { // upstream's older drivers fill it in later
		return 0, nil
	}
	segment, err := c.cfg.Topology.Segment(ctx, o.Spec.NodeID, o.Spec.NodeUUID)
	if err == nil {
		c.found(name)
		// Labels first: the kubelet that is told of another value than its node has refuses the registration.
		if err := c.label(ctx, o.Spec.NodeID, segment); err != nil {
			return 0, err
		}
		return 0, c.answer(ctx, o, succeeded(segment))
	}
	unavailable := errors.Is(err, volume.ErrUnavailable)
	if unavailable && o.Status.Status == Success {
		return 0, fmt.Errorf("%w: %w", errLater, err) // what was true is the best that there is
	}
	if unavailable && o.Status.Status == "" || o.Status.Status == Success {
		if left := c.cfg.Grace - time.Since(c.lost(name)); left > 0 {
			return left, nil
		}
	}
	if answerErr := c.answer(ctx, o, Status{Status: Error, ErrorMessage: err.Error()}); answerErr != nil {
		return 0, answerErr
	}
	return 0, fmt.Errorf("%w: %w", errLater, err)
}

// lost returns since when there is no answer for a node.
func (c *Controller) lost(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.missing[name]; !ok {
		c.missing[name] = time.Now()
	}
	return c.missing[name]
}

func (c *Controller) found(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}

// answer writes a status unless the object has it. The object it was made for is the one that it is written to: another
// one, or a question that has changed meanwhile, makes the write fail.
func (c *Controller) answer(ctx context.Context, o *Object, s Status) error {
	if o.Status.same(s) {
		return nil
	}
	before := o.Status
	fresh := *o
	fresh.Status = s
	u, err := fresh.unstructured()
	if err != nil {
		return err
	}
	if _, err := c.cfg.Dynamic.Resource(Resource()).Update(ctx, u, metav1.UpdateOptions{}); err != nil {
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return fmt.Errorf("%w: %w", errLater, err)
		}
		return err
	}
	reason, kind, text := ReasonSucceeded, corev1.EventTypeNormal, "topology is "+describe(s)
	switch {
	case s.Status == Error:
		reason, kind, text = ReasonFailed, corev1.EventTypeWarning, s.ErrorMessage
	case before.Status == Success:
		reason, text = ReasonChanged, "topology was "+describe(before)+", is "+describe(s)
	}
	c.cfg.Logger.Info("node topology answered", "node", o.Spec.NodeID, "reason", reason, "message", text)
	if c.cfg.Events != nil {
		c.cfg.Events.Event(u, kind, reason, text)
	}
	return nil
}

// label makes those topology labels of a node true that it has: the kubelet sets them at its registration, and never
// changes a value. Labels of other domains are the cloud controller manager's.
func (c *Controller) label(ctx context.Context, node string, segment volume.Segment) error {
	if c.cfg.Client == nil || c.cfg.Labels == nil {
		return nil
	}
	has, ok := c.cfg.Labels.Labels(node)
	if !ok {
		return nil
	}
	fresh := map[string]string{}
	var text []string
	for key, value := range segment {
		if old, ok := has[key]; ok && old != value && strings.HasPrefix(key, names.TopologyPrefix) {
			fresh[key] = value
			text = append(text, fmt.Sprintf("%s was %q, is %q", key, old, value))
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": fresh}})
	if err != nil {
		return err
	}
	patched, err := c.cfg.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("labels of node: %w", err)
	}
	c.cfg.Logger.Info("node topology labels", "node", node, "labels", fresh)
	if c.cfg.Events != nil {
		c.cfg.Events.Event(patched, corev1.EventTypeNormal, ReasonLabelChanged, strings.Join(text, "; "))
	}
	return nil
}

// describe is the topology that a status tells.
func describe(s Status) string {
	if len(s.TopologyLabels) == 0 {
		return "empty"
	}
	parts := make([]string, 0, len(s.TopologyLabels))
	for _, l := range s.TopologyLabels {
		parts = append(parts, strings.TrimPrefix(l.Key, names.TopologyPrefix)+"="+l.Value)
	}
	return strings.Join(parts, ", ")
}
