// Package output prints what commands found out: tables as kubectl's, and JSON, YAML and names for programs.
//
// Every list is {"apiVersion": [APIVersion], "kind": "NodeList", "items": […]}, every single answer an object with
// apiVersion and kind beside its own fields. The order of items is the caller's.
//
// Floor 5. It knows nothing of what it prints.
package output
