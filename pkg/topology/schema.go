package topology

import _ "embed"

//go:embed schema.json
var schema string

// Schema is the JSON schema (draft 7) of topology files, for editors: every key with its type, its words to choose from
// and what it means. It takes any file that [Load] takes, and parts that are included, too, so it cannot tell that
// something is missing which another file may have; names that refer to nothing are [Load]'s to find.
func Schema() []byte { return []byte(schema) }
