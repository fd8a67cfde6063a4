package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/explain"
)

func (i *Inspector) explainService(ctx context.Context, r api.Subject) (api.Explanation, error) {
	client := i.Kubernetes()
	if client == nil {
		return api.Explanation{}, &api.Error{Code: "invalid", Message: "there is no cluster, so there are no Services"}
	}
	listed, cancel := context.WithTimeout(ctx, explain.Patience)
	defer cancel()
	list, err := client.CoreV1().Services(metav1.NamespaceAll).List(listed, metav1.ListOptions{})
	if err != nil {
		return api.Explanation{}, &api.Error{Code: "unavailable", Message: fmt.Sprintf("the Services cannot be listed: %v", err), Try: "vsphere-sandbox status"}
	}
	s, err := findService(list.Items, r.Name)
	if err != nil {
		return api.Explanation{}, err
	}
	c := explain.Service{Around: i.Sources(s.Name).Around, Service: s}
	if i.NSX != nil {
		c.NSX = new(explain.Answer[[]api.NSXObject])
		c.NSX.Is, c.NSX.Err = i.NSX()
	}
	if i.Supervisor != nil {
		asked, cancel := context.WithTimeout(ctx, explain.Patience)
		defer cancel()
		c.Supervisor = i.Supervisor(asked, true)
	}
	together(ctx,
		func(ctx context.Context) {
			var list *discoveryv1.EndpointSliceList
			if list, c.Slices.Err = client.DiscoveryV1().EndpointSlices(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + s.Name}); c.Slices.Err == nil {
				c.Slices.Is = list.Items
			}
		},
		func(ctx context.Context) { c.Reported.Is, c.Reported.Err = eventsOn(ctx, client, s) },
	)
	return c.Explain(), nil
}

// findService finds a Service by NAME, if there is one of that name, or by NAMESPACE/NAME.
func findService(all []corev1.Service, name string) (*corev1.Service, error) {
	var found []*corev1.Service
	var keys, names []string
	for i := range all {
		key := all[i].Namespace + "/" + all[i].Name
		if name == key || name == all[i].Name {
			found, keys = append(found, &all[i]), append(keys, key)
		}
		names = append(names, key, all[i].Name)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		message := fmt.Sprintf("service %q not found", name)
		if near := nearest.Of(name, names); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, &api.Error{Code: "not-found", Message: message, Try: "vsphere-sandbox kubectl get services -A"}
	}
	return nil, &api.Error{
		Code: "ambiguous", Message: fmt.Sprintf("service %q: there are %d: %s", name, len(found), strings.Join(keys, ", ")), Try: "name its namespace, too",
	}
}

// eventsOn returns the Events on a Service, oldest first.
func eventsOn(ctx context.Context, client kubernetes.Interface, s *corev1.Service) ([]corev1.Event, error) {
	list, err := client.CoreV1().Events(s.Namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{"involvedObject.uid": string(s.UID)}.String()})
	if err != nil {
		return nil, err
	}
	at := func(e corev1.Event) time.Time {
		if !e.LastTimestamp.IsZero() {
			return e.LastTimestamp.Time
		}
		return cmp.Or(e.EventTime.Time, e.CreationTimestamp.Time)
	}
	slices.SortStableFunc(list.Items, func(a, b corev1.Event) int { return at(a).Compare(at(b)) })
	return list.Items, nil
}
