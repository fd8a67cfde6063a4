// Package policy interprets storage policies: it converts those of a topology to PBM ([Spec]), and checks whether a datastore
// meets a profile ([Check]).
//
// A policy has rule sets, of which a datastore must meet one, with rules, all of which it must meet. Rules concern tags, as the
// vSphere Client writes them for tag based placement; vSAN, which only a vSAN datastore offers; services of hosts (encryption,
// I/O filters), which every datastore has here; and, because PBM lacks it, the type of the datastore ([TypeNamespace]). No
// datastore meets an unknown rule.
//
// It does not use the simulator. Floor 2.
package policy
