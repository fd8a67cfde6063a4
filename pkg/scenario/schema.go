package scenario

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// Schema returns the JSON schema (draft 7) of scenario files, for editors: every key with its description, the known faults, and
// the fields of objects. It accepts every file that [Load] accepts; [Load] also checks names.
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
				"labels":      described("For selection: suite: core.", mapOf(scalar())),
			}, "name"),
			"reported":   described("Issues that report the problem: cloud-provider-vsphere#642.", listOf(text())),
			"expected":   described("What must happen, for people.", text()),
			"fails":      described("Cloud controller managers that are known to fail it.", listOf(closed("", object{"ccm": text(), "why": text()}, "ccm", "why"))),
			"parameters": described("Values that are chosen for a run, used as ${name} in any value.", listOf(parameterSchema())),
			"topology": object{
				"description": "The topology: a name in the catalogue, a file, or inline.",
				"anyOf": []any{
					text(), closed("", object{"use": text(), "parameters": mapOf(scalar())}, "use"),
					object{"type": "object", "required": []string{"spec"}},
				},
			},
			"components": closed("How the parts of the sandbox start.", object{
				"speed": described("The factor by which the cluster is faster than upstream's defaults.", scalar()),
				"ccm": closed("", object{
					"source":   described("The origin of the program: builtin, module:v1.36.0.", text()),
					"replicas": described("The number of instances; several elect a leader.", scalar()),
					"args":     described("Further flags.", listOf(text())), "env": described("Further environment.", mapOf(scalar())),
				}),
			}),
			"steps": object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": object{"$ref": "#/definitions/step"}},
		},
		"definitions": object{
			"step":      closed("One action.", steps),
			"duration":  object{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|μs|ms|s|m|h))+( ?/ ?speed)?$|\$\{`, "description": "10s of real time, or 40s/speed: forty seconds of a cluster with upstream's defaults."},
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
		return nil // plain data never fails
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
	if _, refers := schema["$ref"]; refers { // other keys beside it are ignored
		schema = object{"allOf": []any{schema}}
	}
	schema["description"] = what
	return schema
}

// closed returns a mapping with these keys and no others.
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

// stepKeys returns the keys of a step for an action, including those of all actions.
func stepKeys(a Action) object {
	keys := object{
		"note": described("What the step is about.", text()), "as": described("A name for the step: for heal, since, until and cause.", text()),
		"after": described("A pause before the step.", ref("duration")), "at": described("The earliest time, from the beginning of the scenario.", ref("duration")),
	}
	switch a {
	case ActionInject:
		keys["inject"] = object{"description": "A fault.", "anyOf": []any{object{"enum": catalogue.Names()}, object{"type": "string", "pattern": `\$\{`}}}
		on := object{}
		for _, key := range onKeys() {
			on[key] = oneOrMore()
		}
		on["labels"] = object{"anyOf": []any{text(), mapOf(scalar())}}
		keys["on"] = object{"description": "The targets.", "anyOf": []any{closed("", on), oneOrMore()}}
		keys["with"] = described("Parameters of the fault.", mapOf(scalar()))
		keys["mode"] = described("How many targets: one, all, a number, a percentage.", scalar())
		keys["seed"] = described("The seed that chooses targets.", scalar())
		keys["for"] = described("How long a fault lasts, a statement must stay true, or must not become true.", ref("duration"))
	case ActionHeal:
		keys["heal"] = described("Heals the faults of steps: their names, or all.", oneOrMore())
	case ActionWait:
		keys["wait"] = described("Waits until it is true; on a timeout the scenario ends.", ref("statement"))
		keys["within"] = described("The time limit; default 60s.", ref("duration"))
	case ActionExpect:
		keys["expect"] = described("Waits until it is true; on a timeout the scenario fails, and continues.", ref("statement"))
	case ActionNever:
		keys["never"] = described("Fails if it is ever true.", ref("statement"))
		keys["until"] = described("A later step, or end: it must not become true before that.", text())
	case ActionRun:
		keys["run"] = described("A command: kubectl, govc or vsphere-sandbox with arguments.", listOf(scalar()))
		keys["stdin"] = described("The input of the command.", text())
		keys["exit"] = described("The required exit status; default 0.", scalar())
		keys["stdout"] = described("A regular expression that matches its output.", text())
		keys["stderr"] = described("A regular expression that matches its errors.", text())
	case ActionSet:
		pick := object{"field": described("A field of the object; also labels.KEY and addresses.0.", text())}
		for _, kind := range world.Kinds() {
			pick[string(kind)] = scalar()
		}
		keys["set"] = described("Names values of the world, for ${name} in later steps.", mapOf(closed("", pick, "field")))
	}
	return keys
}
