package storage

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// complaint is the last warning about an object.
type complaint struct{ reason, message string }

// Complaint is told of a warning about a claim, a PersistentVolume (the namespace is "") or a pod. It is part of what the
// volume waits for as long as it waits.
func (b *Book) Complaint(e *corev1.Event) {
	o := e.InvolvedObject
	name := o.Namespace + "/" + o.Name
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o.Kind {
	case "PersistentVolumeClaim":
		if b.claims[name] != nil {
			b.complaints[o.Kind+" "+name] = complaint{e.Reason, e.Message}
			b.claim(name)
		}
	case "PersistentVolume":
		if b.volumes[o.Name] != nil {
			b.complaints[o.Kind+" "+o.Name] = complaint{e.Reason, e.Message}
			b.volume(o.Name)
		}
	case "Pod":
		if p := b.pods[name]; p != nil && p.Status.Phase != corev1.PodRunning {
			b.complaints[o.Kind+" "+name] = complaint{e.Reason, e.Message}
			for _, c := range claimsOf(p) {
				b.claim(c)
			}
		}
	}
}

// pardon forgets what was complained of about an object that is gone, or has all it wants.
func (b *Book) pardon(kind, name string, content bool) {
	if content {
		delete(b.complaints, kind+" "+name)
	}
}

// because is what was last complained of about an object, for one of the reasons (any, when there are none), as the end of
// a sentence.
func (b *Book) because(kind, name string, reasons ...string) string {
	c, ok := b.complaints[kind+" "+name]
	if !ok {
		return ""
	}
	for i, r := range reasons {
		if r == c.reason {
			break
		}
		if i == len(reasons)-1 {
			return ""
		}
	}
	return ": " + strings.TrimSpace(c.message)
}
