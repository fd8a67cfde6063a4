package deploy

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// workload is a DaemonSet or Deployment of ours, and how far it is.
type workload struct {
	kind, namespace, name, part string
	selector                    labels.Selector
	generation                  int64
	// observed: what is said here is of what was asked for last.
	observed bool
	// want pods, of which so many are of the last template, and so many of those ready.
	want, updated, ready int
	// elsewhere: it is for nodes of another system than Linux.
	elsewhere bool
	// trouble is why no pod is made.
	trouble string
	pods    []*corev1.Pod   // filled by picture, by name
	noVMs   map[string]bool // by picture as well: nodes that are none
}

func (w workload) String() string {
	return strings.ToLower(w.kind) + " " + w.namespace + "/" + w.name
}

// done tells whether all that is wanted runs, as far as there can be a place for it.
func (w workload) done() bool {
	if w.elsewhere && w.want == 0 {
		return w.observed
	}
	return w.observed && w.want > 0 && w.updated >= w.want && w.ready > 0 && w.ready+w.spares() >= w.want
}

// list is the workloads, in an order that stays.
func (t *tracker) list() []workload {
	var all []workload
	if t.workloads == nil {
		return nil
	}
	sets, _ := t.workloads.Apps().V1().DaemonSets().Lister().List(labels.Everything()) // a lister of a cache never fails
	for _, s := range sets {
		all = append(all, daemonSet(s))
	}
	deployments, _ := t.workloads.Apps().V1().Deployments().Lister().List(labels.Everything())
	for _, s := range deployments {
		all = append(all, deployment(s))
	}
	all = slices.DeleteFunc(all, func(w workload) bool { return w.part != partCCM && w.part != partCSI })
	slices.SortFunc(all, func(a, b workload) int {
		return strings.Compare(a.part+"/"+a.namespace+"/"+a.name, b.part+"/"+b.namespace+"/"+b.name)
	})
	return all
}

func daemonSet(s *appsv1.DaemonSet) workload {
	w := of("DaemonSet", s, s.Spec.Selector)
	w.observed = s.Status.ObservedGeneration >= s.Generation
	w.want, w.updated, w.ready = int(s.Status.DesiredNumberScheduled), int(s.Status.UpdatedNumberScheduled), int(s.Status.NumberReady)
	system := s.Spec.Template.Spec.NodeSelector[corev1.LabelOSStable]
	w.elsewhere = system != "" && system != "linux"
	return w
}

func deployment(s *appsv1.Deployment) workload {
	w := of("Deployment", s, s.Spec.Selector)
	w.observed = s.Status.ObservedGeneration >= s.Generation
	w.want = 1
	if s.Spec.Replicas != nil {
		w.want = int(*s.Spec.Replicas)
	}
	w.updated, w.ready = int(s.Status.UpdatedReplicas), int(s.Status.ReadyReplicas)
	if s.Status.Replicas > s.Status.UpdatedReplicas {
		w.ready = 0 // some of those that are ready are on their way out
	}
	for _, c := range s.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.trouble = c.Message
		}
	}
	return w
}

func of(kind string, o metav1.Object, selector *metav1.LabelSelector) workload {
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		s = labels.Nothing() // the API server lets no such selector pass
	}
	return workload{
		kind: kind, namespace: o.GetNamespace(), name: o.GetName(), part: o.GetLabels()[partLabel],
		selector: s, generation: o.GetGeneration(),
	}
}
