package scenario

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// Schema is the JSON schema (draft 7) of scenario files, for editors: every key with what it means, the faults that there
// are, and the fields of things. It takes any file that [Load] takes; names that refer to nothing are [Load]'s to find.
func Schema() []byte {
	steps := map[string]any{}
	for _, a := range actions() {
		maps.Copy(steps, stepKeys(a))
	}
	whole := object{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "vsphere-sandbox scenario",
		"description": "A topology, steps that break it, and expectations of what happens then.",
		"type":        "object", "additionalProperties": false,
		"required": []string{"apiVersion", "kind", "metadata", "topology", "steps"},
		"properties": object{
			"apiVersion": object{"const": APIVersion},
			"kind":       object{"const": Kind},
			"metadata": closed("", object{
				"name":        object{"type": "string", "pattern": scenarioName.String(), "description": "Lower-case letters, digits and hyphens."},
				"description": described("One line.", text()),
				"labels":      described("To choose by: suite: core.", mapOf(scalar())),
			}, "name"),
			"reported":   described("Issues in which people met it: cloud-provider-vsphere#642.", listOf(text())),
			"expected":   described("What must happen, for people.", text()),
			"fails":      described("Cloud controller managers that are known to fail it.", listOf(closed("", object{"ccm": text(), "why": text()}, "ccm", "why"))),
			"parameters": described("Values that are chosen when it is run, used as ${name} in any value.", listOf(parameterSchema())),
			"topology": object{
				"description": "What it runs on: a name of the catalogue, a file, or a topology written out.",
				"anyOf": []any{
					text(), closed("", object{"use": text(), "parameters": mapOf(scalar())}, "use"),
					object{"type": "object", "required": []string{"spec"}},
				},
			},
			"components": closed("How parts of the sandbox are started.", object{
				"speed": described("How much faster than upstream's defaults the cluster lives.", scalar()),
				"ccm": closed("", object{
					"source":   described("Where it comes from: builtin, module:v1.36.0.", text()),
					"replicas": described("How many run; more than one elect a leader.", scalar()),
					"args":     described("Further flags.", listOf(text())), "env": described("Further environment.", mapOf(scalar())),
				}),
			}),
			"steps": object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": object{"$ref": "#/definitions/step"}},
		},
		"definitions": object{
			"step":      closed("One thing that is done.", steps),
			"duration":  object{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|μs|ms|s|m|h))+( ?/ ?speed)?$|\$\{`, "description": "10s on the wall, or 40s/speed: forty seconds of a cluster with upstream's defaults."},
			"statement": statementSchema(),
			"one":       object{"anyOf": statementSchemas()},
			"value":     valueSchema(),
			"event":     eventSchema(),
		},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(whole); err != nil {
		return nil // plain data always can be
	}
	return b.Bytes()
}

// object is a JSON object.
type object = map[string]any

func text() object   { return object{"type": "string"} }
func scalar() object { return object{"type": []string{"string", "number", "boolean"}} }

func listOf(items any) object { return object{"type": "array", "items": items} }

func mapOf(values any) object { return object{"type": "object", "additionalProperties": values} }

func ref(name string) object { return object{"$ref": "#/definitions/" + name} }

func oneOrMore() object { return object{"anyOf": []any{scalar(), listOf(scalar())}} }

func described(what string, schema object) object {
	if _, refers := schema["$ref"]; refers { // nothing beside it counts
		schema = object{"allOf": []any{schema}}
	}
	schema["description"] = what
	return schema
}

// closed is a mapping with these keys and no others.
func closed(what string, properties object, required ...string) object {
	made := object{"type": "object", "additionalProperties": false, "properties": properties}
	if what != "" {
		made["description"] = what
	}
	if len(required) > 0 {
		made["required"] = required
	}
	return made
}

func parameterSchema() object {
	return closed("", object{
		"name": text(), "description": text(), "default": scalar(), "allowed": listOf(scalar()),
		"type": object{"enum": []string{"string", "int", "bool", "size"}},
	}, "name")
}

// stepKeys are the keys of a step for an action, with those that all have.
func stepKeys(a Action) object {
	keys := object{
		"note": described("What the step is about.", text()), "as": described("A name for the step: for heal, since, until and cause.", text()),
		"after": described("A pause before the step.", ref("duration")), "at": described("Not before this time from the beginning of the scenario.", ref("duration")),
	}
	switch a {
	case ActionInject:
		keys["inject"] = object{"description": "A fault.", "anyOf": []any{object{"enum": catalogue.Names()}, object{"type": "string", "pattern": `\$\{`}}}
		on := object{}
		for _, key := range onKeys() {
			on[key] = oneOrMore()
		}
		on["labels"] = object{"anyOf": []any{text(), mapOf(scalar())}}
		keys["on"] = object{"description": "What it happens to.", "anyOf": []any{closed("", on), oneOrMore()}}
		keys["with"] = described("Parameters of the fault.", mapOf(scalar()))
		keys["mode"] = described("How many: one, all, a number, a percentage.", scalar())
		keys["seed"] = described("What targets are drawn with.", scalar())
		keys["for"] = described("How long a fault lasts, a statement has to stay true, or must not become true.", ref("duration"))
	case ActionHeal:
		keys["heal"] = described("Puts back what steps broke: their names, or all.", oneOrMore())
	case ActionWait:
		keys["wait"] = described("Waits until it is true; the scenario ends there when it does not become so.", ref("statement"))
		keys["within"] = described("How long it may take; 60s.", ref("duration"))
	case ActionExpect:
		keys["expect"] = described("Waits until it is true; on a timeout the scenario fails, and continues.", ref("statement"))
	case ActionNever:
		keys["never"] = described("Fails when it is true, be it for a moment.", ref("statement"))
		keys["until"] = described("A later step, or end: it must not become true before that.", text())
	case ActionRun:
		keys["run"] = described("A command: kubectl, govc or vsphere-sandbox with arguments.", listOf(scalar()))
		keys["stdin"] = described("What it reads.", text())
		keys["exit"] = described("The exit status that it has to have; 0.", scalar())
		keys["stdout"] = described("A regular expression found in what it writes.", text())
		keys["stderr"] = described("A regular expression found in its errors.", text())
	case ActionSet:
		pick := object{"field": described("A field of it; labels.KEY and addresses.0, too.", text())}
		for _, kind := range world.Kinds() {
			pick[string(kind)] = scalar()
		}
		keys["set"] = described("Gives names to values of the world, for ${name} in later steps.", mapOf(closed("", pick, "field")))
	}
	return keys
}
