// Package policy says what storage policies mean: what PBM is told of a topology's ([Spec]), and whether a datastore meets
// one, whoever wrote it ([Check]).
//
// A policy has rule sets, of which a datastore has to meet one, and rules in them, of which it has to meet all. Rules are
// about tags, as vSphere Client writes them for tag based placement; about vSAN, which only a vSAN datastore offers;
// about services of hosts (encryption, I/O filters), which every datastore has here; and, as PBM has no word for it, about
// the type of the datastore ([TypeNamespace]). No datastore offers what is not known here.
//
// It knows nothing of the simulator. Floor 2.
package policy
