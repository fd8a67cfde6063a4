package lab

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// AwaitEvent returns an Event about an object of that kind and name for which is holds, at the latest after that time, else
// the error says which there were.
func (l *Lab) AwaitEvent(ctx context.Context, atMost time.Duration, kind, name string, is func(*corev1.Event) bool) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, atMost, fmt.Errorf("not within %s", atMost))
	defer cancel()
	events := l.Client.CoreV1().Events(metav1.NamespaceAll)
	about := metav1.ListOptions{FieldSelector: fields.Set{"involvedObject.kind": kind, "involvedObject.name": name}.String()}
	var seen []string
	for {
		list, err := events.List(ctx, about)
		if err != nil {
			return nil, fmt.Errorf("events about %s %s: %w; seen: %q", kind, name, context.Cause(ctx), seen)
		}
		seen = seen[:0]
		for i := range list.Items {
			e := &list.Items[i]
			if is(e) {
				return e, nil
			}
			seen = append(seen, e.Reason+": "+e.Message)
		}
		from := about
		from.ResourceVersion = list.ResourceVersion
		changes, err := events.Watch(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("events about %s %s: %w; seen: %q", kind, name, context.Cause(ctx), seen)
		}
		select {
		case <-changes.ResultChan(): // then they are listed again
		case <-ctx.Done():
		}
		changes.Stop()
	}
}
