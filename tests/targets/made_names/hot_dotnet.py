# SPDX-License-Identifier: Apache-2.0
"""Computes in code of .NET for as long as it lives, of a type that it makes itself: no compiler is
at hand. hot_dotnet.py FILE: where to write the settings of the runtime.
"""
import json
import os
import sys

import pythonnet
from clr_loader import get_coreclr

framework = {"name": "Microsoft.NETCore.App", "version": "3.1.0"}
with open(sys.argv[1], "w", encoding="ascii") as file:
    json.dump({"runtimeOptions": {"tfm": "netcoreapp3.1", "framework": framework}}, file)
pythonnet.set_runtime(
    get_coreclr(runtime_config=sys.argv[1], dotnet_root=os.environ["DOTNET_ROOT"])
)

import clr
from System import Array, Byte, Int32, Object, Type
from System.Reflection import AssemblyName, MethodAttributes, TypeAttributes
from System.Reflection.Emit import AssemblyBuilder, AssemblyBuilderAccess, OpCodes

NUMBER = clr.GetClrType(Int32)
assembly = AssemblyBuilder.DefineDynamicAssembly(
    AssemblyName("Made"), AssemblyBuilderAccess.Run
)
hot = assembly.DefineDynamicModule("Made").DefineType("Hot", TypeAttributes.Public)


def define(name):
    """A method from one number to another, and what writes its code."""
    attributes = MethodAttributes.Public | MethodAttributes.Static
    method = hot.DefineMethod(name, attributes, NUMBER, Array[Type]([NUMBER]))
    return method, method.GetILGenerator()


innermost, code = define("Innermost")
code.DeclareLocal(NUMBER)
again = code.DefineLabel()
code.MarkLabel(again)
code.Emit(OpCodes.Ldloc_0)
code.Emit(OpCodes.Ldc_I4, 31)
code.Emit(OpCodes.Mul)
code.Emit(OpCodes.Ldarg_0)
code.Emit(OpCodes.Add)
code.Emit(OpCodes.Stloc_0)
code.Emit(OpCodes.Ldarg_0)
code.Emit(OpCodes.Ldc_I4_1)
code.Emit(OpCodes.Sub)
code.Emit(OpCodes.Dup)
code.Emit(OpCodes.Starg_S, Byte(0))
code.Emit(OpCodes.Brtrue, again)
code.Emit(OpCodes.Ldloc_0)
code.Emit(OpCodes.Ret)

_, code = define("Middle")
code.Emit(OpCodes.Ldarg_0)
code.EmitCall(OpCodes.Call, innermost, None)
code.Emit(OpCodes.Ldc_I4_1)
code.Emit(OpCodes.Add)
code.Emit(OpCodes.Ret)

middle = hot.CreateType().GetMethod("Middle")
while True:
    middle.Invoke(None, Array[Object]([Int32(100_000_000)]))
